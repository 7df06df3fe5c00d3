import type { Log } from '../../infra/ports/log.ts'
import { blocksSinceCreation, type DepositChain, depositedKeys } from './broadcast-faults.ts'
import type { StakingChain } from './create-validators.ts'
import { type HandingOver, handOver, type RunChain } from './hand-over.ts'

/** A chain that tells of deposits, whoever has sent them. */
export type DepositedChain = RunChain & DepositChain & Pick<StakingChain, 'node'>

export interface HandingDeposited extends HandingOver {
  readonly log: Log
  /** Keys that nobody can be given, and the operator was told of: once while the program runs. */
  readonly told: Set<string>
  /** What the chain has said of keys that nobody runs, by public key: what cannot be handed over has no block read again. */
  readonly looks: Map<string, Look>
}

type Look =
  /** By a deposit or the registry; also where the deposit is reorganised away, as its key could have been handed over before. */
  | { readonly status: 'deposited' }
  /** Not up to this slot. */
  | { readonly status: 'undeposited'; readonly toSlot: number }

/** Whether the chain may have a validator that was created here and that nobody runs, as far as the log tells. */
export function mayNeedHandOver({ book }: Pick<HandingOver, 'book'>, chain: string): boolean {
  return book.created.ofChain(chain).some(({ pubkeys }) => pubkeys.some((pubkey) => !book.moved.isRun(pubkey)))
}

/**
 * Hands over the keys of validators that the chain has deposits of and nobody runs: quotes and wallets send them without a broadcast here.
 * Throws as `handOver`.
 */
export async function handOverDeposited(handing: HandingDeposited, chain: DepositedChain): Promise<void> {
  const { book, log, looks } = handing
  const waiting = await waitingOn(handing, chain.name)
  const sets = book.created.ofChain(chain.name)
  const isWaiting = new Set(waiting)
  for (const { pubkeys } of sets) for (const pubkey of pubkeys) if (!isWaiting.has(pubkey)) looks.delete(pubkey)
  if (waiting.length === 0) return
  await lookForDeposits(handing, chain, waiting)
  // By request: what is wrong with one keeps no other waiting.
  for (const set of sets) {
    const pubkeys = set.pubkeys.filter((pubkey) => looks.get(pubkey)?.status === 'deposited')
    if (pubkeys.length === 0) continue
    const handed = await handOver(handing, chain, { pubkeys })
    if (handed.status === 'run') {
      for (const pubkey of pubkeys) looks.delete(pubkey)
      log.info({ chain: chain.name, pubkeys }, 'validators that were deposited by other means are run now')
    }
    if (handed.status === 'refused') tellOnce(handing, { chain: chain.name, pubkeys, ...handed })
  }
}

/** The keys of a chain that nobody has, as far as the log and the vault tell. */
async function waitingOn({ book, vault }: HandingDeposited, chain: string): Promise<readonly string[]> {
  const free = book.created
    .ofChain(chain)
    .flatMap(({ pubkeys }) => pubkeys)
    .filter((pubkey) => !book.moved.isRun(pubkey))
  // Of those that are for a client the mark says only that they may be on their way.
  const unassigned = free.filter((pubkey) => book.moved.clientOf(pubkey) === undefined)
  const exported = new Set(await vault.exportedBefore(unassigned))
  return free.filter((pubkey) => !exported.has(pubkey))
}

/** Looks at the blocks that were not looked at for these keys. Throws AppError of a node fault. */
async function lookForDeposits(
  { book, looks }: HandingDeposited,
  chain: DepositedChain,
  waiting: readonly string[],
): Promise<void> {
  const [{ depositContract }, headSlot] = await Promise.all([chain.node.facts(), chain.node.headSlot()])
  const sought = waiting.flatMap((pubkey) => {
    const look = looks.get(pubkey)
    return look?.status === 'deposited' ? [] : [{ pubkey, fromSlot: look?.toSlot }]
  })
  // As a rule all that were looked at before, and those that were created since.
  for (const [fromSlot, keys] of Map.groupBy(sought, (one) => one.fromSlot)) {
    const pubkeys = keys.map(({ pubkey }) => pubkey)
    const roots = new Map(
      pubkeys.map((pubkey) => {
        const account = book.created.of(chain.name, pubkey)?.account ?? ''
        return [pubkey, book.created.termsOf({ chain: chain.name, account }, pubkey)?.depositDataRoot]
      }),
    )
    const blocks =
      fromSlot === undefined ? await blocksSinceCreation(chain, book, pubkeys) : Math.max(0, headSlot - fromSlot)
    const deposited = new Set(await depositedKeys(chain, { roots, depositContract, blocks }))
    for (const pubkey of pubkeys)
      looks.set(pubkey, deposited.has(pubkey) ? { status: 'deposited' } : { status: 'undeposited', toSlot: headSlot })
  }
}

interface Unrun {
  readonly chain: string
  readonly pubkeys: readonly string[]
  readonly reason: string
  readonly sentence: string
}

function tellOnce({ log, told }: HandingDeposited, { chain, pubkeys, reason, sentence }: Unrun): void {
  if (pubkeys.every((pubkey) => told.has(pubkey))) return
  for (const pubkey of pubkeys) told.add(pubkey)
  log.error({ chain, pubkeys, reason }, `validators are deposited and may have nobody who runs them: ${sentence}`)
}
