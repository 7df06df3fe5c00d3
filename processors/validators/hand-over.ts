import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { KeyKeeping } from '../../infra/ports/key-keeping.ts'
import type { ValidatorClient } from '../../infra/ports/validator-client.ts'
import type { BroadcastReason } from '../../schemas/broadcast-reasons.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { keysAssigned, keysTaken } from '../../schemas/events/vault-keys.ts'
import { type Clocks, isLate } from './clocks.ts'
import { durably } from './durable-steps.ts'
import type { StakingBook } from './staking-book.ts'
import type { Turns } from './turns.ts'
import { clientEvents, type VaultKey } from './vault-keys.ts'

/** A chain whose validators somebody has to run. */
export interface RunChain {
  readonly name: string
  /** Undefined where none is configured: the operator exports their keys. */
  readonly validatorClient: ValidatorClient | undefined
  /** 32 bytes. Throws AppError of a node fault. */
  genesisValidatorsRoot(): Promise<Uint8Array>
}

export interface HandingOver extends Clocks {
  readonly vault: Pick<KeyKeeping, 'giveKeys' | 'exportedBefore'>
  /** As the one who has the vault. */
  readonly writer: EventWriter
  readonly book: StakingBook
  /** One after the other of a chain, by its name: a client that is slow keeps no other chain waiting. */
  readonly handing: Turns
}

export type HandedOver =
  /** Each of them is in one validator client, or in the hands of the operator. */
  | { readonly status: 'run' }
  /** Nobody runs some of them, and trying again does not help. */
  | { readonly status: 'refused'; readonly reason: BroadcastReason; readonly sentence: string }
  /** Nobody waits for it any more. */
  | { readonly status: 'late' }

const RUN = { status: 'run' } as const

/**
 * Sees to it that somebody runs validators that were created here: those whose keystores nobody has are given to the chain's validator
 * client, with their fee recipients.
 *
 * From `broadcast-assigned` on no other client ever gets the keys. A kill between that and `broadcast-taken` leaves keys that are given
 * to the same client again, which is as good as once.
 *
 * Throws AppError `validator_client` when the client does not answer as it should, `key_vault`, or of a node fault: to be tried again.
 */
export async function handOver(
  handing: HandingOver,
  chain: RunChain,
  { pubkeys, notAfterMs }: { readonly pubkeys: readonly string[]; readonly notAfterMs?: number },
): Promise<HandedOver> {
  const { book } = handing
  const waiting = () => pubkeys.filter((pubkey) => !book.moved.isRun(pubkey))
  if (waiting().length === 0) return RUN
  return await handing.handing.take(chain.name, async () => {
    if (notAfterMs !== undefined && isLate(handing, notAfterMs)) return { status: 'late' }
    const wanted = waiting()
    if (wanted.length === 0) return RUN
    return chain.validatorClient === undefined
      ? await withoutClient(handing, wanted)
      : await giveTo(chain.validatorClient, { handing, chain, pubkeys: wanted })
  })
}

/** Keys that were exported when the log was another one are marked in the vault alone. */
async function withoutClient({ vault, book }: HandingOver, pubkeys: readonly string[]): Promise<HandedOver> {
  const assigned = pubkeys.find((pubkey) => book.moved.clientOf(pubkey) !== undefined)
  if (assigned !== undefined) return otherClient(assigned)
  const exported = new Set(await vault.exportedBefore(pubkeys))
  const unexported = pubkeys.find((pubkey) => !exported.has(pubkey))
  if (unexported === undefined) return RUN
  return {
    status: 'refused',
    reason: 'keys_not_exported',
    sentence: `nobody would run ${unexported}: no validator client is configured, so the operator has to export its key first (keys export)`,
  }
}

interface Giving {
  readonly handing: HandingOver
  readonly chain: RunChain
  readonly pubkeys: readonly string[]
}

async function giveTo(client: ValidatorClient, { handing, chain, pubkeys }: Giving): Promise<HandedOver> {
  const { book, vault } = handing
  const isElsewhere = (pubkey: string) => (book.moved.clientOf(pubkey) ?? client.id) !== client.id
  const elsewhere = pubkeys.find(isElsewhere)
  if (elsewhere !== undefined) return otherClient(elsewhere)
  // Before anything is for it: it is there, and takes our token.
  const had = await client.keys()
  const genesisValidatorsRoot = await chain.genesisValidatorsRoot()
  const its = await book.moved.inTurn(() => assign(client, { handing, chain, pubkeys }))
  const missing = its.filter((pubkey) => !had.has(pubkey))
  const terms = { client: client.access, genesisValidatorsRoot }
  const untaken = new Set(await durably('broadcast-given', () => vault.giveKeys(missing, terms)))
  const taken = its.filter((pubkey) => !untaken.has(pubkey))
  await client.setFeeRecipients(
    taken.map((pubkey) => ({ pubkey, address: createdOf(handing, chain, pubkey).feeRecipient })),
  )
  await durably('broadcast-taken', () => tell({ handing, chain, pubkeys: taken }, keysTaken, client))
  const [refused] = untaken
  if (refused === undefined) return RUN
  const sentence = `the validator client does not take the key of ${refused}: ask the operator`
  return { status: 'refused', reason: 'refused_by_validator_client', sentence }
}

/** Tells the log that the keys which are in no hands yet are for the client. All that are for it and not in its hands, or others'. */
async function assign(client: ValidatorClient, { handing, chain, pubkeys }: Giving): Promise<readonly string[]> {
  const { book, vault } = handing
  const free = pubkeys.filter((pubkey) => book.moved.clientOf(pubkey) === undefined)
  const exported = new Set(await vault.exportedBefore(free))
  const fresh = free.filter((pubkey) => !exported.has(pubkey) && !book.moved.isRun(pubkey))
  await durably('broadcast-assigned', () => tell({ handing, chain, pubkeys: fresh }, keysAssigned, client))
  // What was exported after it was assigned, with a warning, is the operator's.
  return pubkeys.filter((pubkey) => book.moved.clientOf(pubkey) !== undefined && !book.moved.isRun(pubkey))
}

async function tell(
  { handing, chain, pubkeys }: Giving,
  type: typeof keysAssigned | typeof keysTaken,
  { id }: ValidatorClient,
): Promise<void> {
  if (pubkeys.length === 0) return
  const { book, writer, now } = handing
  const keys: readonly VaultKey[] = pubkeys.map((pubkey) => {
    return { chain: chain.name, account: createdOf(handing, chain, pubkey).account, pubkey }
  })
  const time = formatInstant(Math.floor(now() / 1_000))
  await book.tell(writer, clientEvents(type, keys, { client: id, time }))
}

function createdOf({ book }: HandingOver, { name }: RunChain, pubkey: string) {
  const created = book.created.of(name, pubkey)
  if (created === undefined) throw new Error('only what was created here is handed over')
  return created
}

function otherClient(pubkey: string): HandedOver {
  return {
    status: 'refused',
    reason: 'other_validator_client',
    sentence: `the key of ${pubkey} is for another validator client than the one that is configured, and it is not known whether that runs it: ask the operator`,
  }
}
