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
  /** The slot up to which each chain has no deposit of a validator that nobody runs. */
  readonly lookedTo: Map<string, number>
}

/** Whether the chain may have a validator that was created here and that nobody runs, as far as the log tells. */
export function mayNeedHandOver({ book }: Pick<HandingOver, 'book'>, chain: string): boolean {
  return book.created.ofChain(chain).some(({ pubkeys }) => pubkeys.some((pubkey) => !book.moved.isRun(pubkey)))
}

/**
 * Hands over the keys of validators that the chain has deposits of and nobody runs: quotes and wallets send them without a broadcast here.
 * Throws as `handOver`.
 */
export async function handOverDeposited(handing: HandingDeposited, chain: DepositedChain): Promise<void> {
  const { book, log, lookedTo } = handing
  const waiting = await waitingOn(handing, chain.name)
  if (waiting.length === 0) return
  const headSlot = await chain.node.headSlot()
  const deposited = await depositedOf(handing, chain, { waiting, headSlot })
  let areRun = true
  // By request: what is wrong with one keeps no other waiting.
  for (const set of book.created.ofChain(chain.name)) {
    const pubkeys = set.pubkeys.filter((pubkey) => deposited.has(pubkey))
    if (pubkeys.length === 0) continue
    const handed = await handOver(handing, chain, { pubkeys })
    if (handed.status === 'run')
      log.info({ chain: chain.name, pubkeys }, 'validators that were deposited by other means are run now')
    else areRun = false
    if (handed.status === 'refused') tellOnce(handing, { chain: chain.name, pubkeys, ...handed })
  }
  if (areRun) lookedTo.set(chain.name, headSlot)
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

async function depositedOf(
  { book, lookedTo }: HandingDeposited,
  chain: DepositedChain,
  { waiting, headSlot }: { readonly waiting: readonly string[]; readonly headSlot: number },
): Promise<ReadonlySet<string>> {
  const roots = new Map(
    waiting.map((pubkey) => {
      const account = book.created.of(chain.name, pubkey)?.account ?? ''
      return [pubkey, book.created.termsOf({ chain: chain.name, account }, pubkey)?.depositDataRoot]
    }),
  )
  const { depositContract } = await chain.node.facts()
  const before = lookedTo.get(chain.name)
  const blocks = before === undefined ? await blocksSinceCreation(chain, book, waiting) : Math.max(0, headSlot - before)
  return new Set(await depositedKeys(chain, { roots, depositContract, blocks }))
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
