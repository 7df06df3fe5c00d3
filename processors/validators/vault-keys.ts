import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import {
  keysAssigned,
  keysExported,
  keysImported,
  keysTaken,
  VAULT_KEYS_MAX,
  type VaultKeys,
} from '../../schemas/events/vault-keys.ts'
import { Turns } from './turns.ts'

/** What the log says of keys that came into the vault or left it otherwise than by being created. */
export class MovedKeys {
  readonly #exported = new Set<string>()
  /** Unix seconds of the first import. */
  readonly #imported = new Map<string, number>()
  readonly #importedByChain = new Map<string, Set<string>>()
  readonly #clients = new Map<string, string>()
  readonly #taken = new Set<string>()
  readonly #turns = new Turns()

  add(event: EncodedEvent): void {
    if (event.type === keysExported.name)
      for (const pubkey of decodeEvent(keysExported, event).pubkeys) this.#exported.add(pubkey)
    if (event.type === keysImported.name) this.#import(decodeEvent(keysImported, event), Date.parse(event.time) / 1_000)
    if (event.type === keysAssigned.name) {
      const { client, pubkeys } = decodeEvent(keysAssigned, event)
      for (const pubkey of pubkeys) if (!this.#clients.has(pubkey)) this.#clients.set(pubkey, client)
    }
    if (event.type === keysTaken.name)
      for (const pubkey of decodeEvent(keysTaken, event).pubkeys) this.#taken.add(pubkey)
  }

  #import({ chain, pubkeys }: VaultKeys, timeSec: number): void {
    const ofChain = this.#importedByChain.get(chain) ?? new Set()
    this.#importedByChain.set(chain, ofChain)
    for (const pubkey of pubkeys) {
      ofChain.add(pubkey)
      this.#imported.set(pubkey, Math.min(timeSec, this.#imported.get(pubkey) ?? timeSec))
    }
  }

  /** Between looking where keys are and telling where they go nobody else does: else one goes to two places. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#turns.take('keys', work)
  }

  /** Whether somebody runs it, as far as the log tells: who was given its keystore, or the validator client that has taken it. */
  isRun(pubkey: string): boolean {
    return this.#exported.has(pubkey) || this.#taken.has(pubkey)
  }

  /** The validator client that it is for, whether that has it yet or not. Lower-case hex. */
  clientOf(pubkey: string): string | undefined {
    return this.#clients.get(pubkey)
  }

  /** Whether somebody was given its keystore, who may run it. Lower-case hex. */
  isExported(pubkey: string): boolean {
    return this.#exported.has(pubkey)
  }

  /** Lower-case hex. */
  isImported(pubkey: string): boolean {
    return this.#imported.has(pubkey)
  }

  /** Unix seconds; undefined for a key that was not. Lower-case hex. */
  importedSec(pubkey: string): number | undefined {
    return this.#imported.get(pubkey)
  }

  /** Of all chains and accounts. */
  imported(): readonly string[] {
    return [...this.#imported.keys()]
  }

  importedOf(chain: string): readonly string[] {
    return [...(this.#importedByChain.get(chain) ?? [])]
  }
}

/** A key with what the log is to say of it. */
export interface VaultKey {
  readonly chain: string
  readonly account: string
  readonly pubkey: string
}

/** What the log is told of keys that were exported. `time` is ISO 8601. */
export function exportedEvents(keys: readonly VaultKey[], time: string): readonly EncodedEvent[] {
  return partsOf(keys).map((data) =>
    encodeEvent(keysExported, {
      id: `${keysExported.name}:${data.chain}:${data.account}:${data.pubkeys[0]}:${time}`,
      key: ACCOUNTS_KEY,
      time,
      data,
    }),
  )
}

/** What the log is told of keys that are for a validator client, or that it has taken. `time` is ISO 8601. */
export function clientEvents(
  type: typeof keysAssigned | typeof keysTaken,
  keys: readonly VaultKey[],
  { client, time }: { readonly client: string; readonly time: string },
): readonly EncodedEvent[] {
  return partsOf(keys).map((data) =>
    encodeEvent(type, {
      id: `${type.name}:${data.chain}:${data.pubkeys[0]}`,
      key: ACCOUNTS_KEY,
      time,
      data: { ...data, client },
    }),
  )
}

/** What the log is told of keys that were imported. `time` is ISO 8601. */
export function importedEvents(keys: readonly VaultKey[], time: string): readonly EncodedEvent[] {
  return partsOf(keys).map((data) =>
    encodeEvent(keysImported, {
      id: `${keysImported.name}:${data.chain}:${data.account}:${data.pubkeys[0]}`,
      key: ACCOUNTS_KEY,
      time,
      data,
    }),
  )
}

/** The keys of each chain and account together, as many as one event takes. */
function partsOf(keys: readonly VaultKey[]): readonly VaultKeys[] {
  const groups = Object.values(Object.groupBy(keys, ({ chain, account }) => `${chain} ${account}`))
  return groups.flatMap((group = []) => {
    const parts: VaultKeys[] = []
    for (let at = 0; at < group.length; at += VAULT_KEYS_MAX) {
      const some = group.slice(at, at + VAULT_KEYS_MAX)
      const [{ chain, account } = { chain: '', account: '' }] = some
      parts.push({ chain, account, pubkeys: some.map(({ pubkey }) => pubkey) })
    }
    return parts
  })
}
