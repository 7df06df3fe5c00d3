import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import {
  type StakingBroadcast,
  type StakingEnd,
  type StakingEnded,
  stakingBroadcast,
  stakingEnded,
} from '../../schemas/events/staking-broadcast.ts'

/** A staking transaction that was broadcast; what was sent is kept until it has ended. */
export interface SentStaking extends Omit<StakingBroadcast, 'rawTransaction'> {
  readonly rawTransaction: string | undefined
  /** How often it was broadcast: again only after an end. */
  readonly attempt: number
  /** Undefined while it may still be mined. */
  readonly end: StakingEnd | undefined
  /** Of one that was superseded: those of its validators that are deposited. */
  readonly deposited: readonly string[]
}

interface SenderNonce {
  readonly sender: string
  readonly nonce: number
}

/** Ends that say what nodes said, not what the chain has: these take the place of no other. */
const NODES_WORDS: ReadonlySet<StakingEnd> = new Set<StakingEnd>(['unsent', 'refused'])

/** The staking transactions that the log says were broadcast. */
export class SentStakings {
  readonly #byHash = new Map<string, SentStaking>()
  /** Hashes, by public key. */
  readonly #byKey = new Map<string, Set<string>>()
  readonly #pending = new Set<string>()

  /** Throws AppError `undecodable` for an event that is not what its type says. */
  add(event: EncodedEvent): void {
    if (event.type === stakingBroadcast.name) this.#begin(decodeEvent(stakingBroadcast, event))
    else if (event.type === stakingEnded.name) this.#end(decodeEvent(stakingEnded, event))
  }

  #begin(sent: StakingBroadcast): void {
    const name = nameOf(sent.chain, sent.txHash)
    const before = this.#byHash.get(name)
    // Told twice, it is one broadcast all the same.
    if (before !== undefined && before.end === undefined) return
    this.#byHash.set(name, { ...sent, attempt: (before?.attempt ?? 0) + 1, end: undefined, deposited: [] })
    this.#pending.add(name)
    for (const pubkey of sent.pubkeys) {
      const key = nameOf(sent.chain, pubkey)
      const names = this.#byKey.get(key) ?? new Set()
      this.#byKey.set(key, names.add(name))
    }
  }

  #end({ chain, txHash, status, deposited = [] }: StakingEnded): void {
    const name = nameOf(chain, txHash)
    const sent = this.#byHash.get(name)
    if (sent === undefined || sent.end === 'mined') return
    // What nodes said at one moment may be told after what the chain has said meanwhile.
    if (sent.end !== undefined && NODES_WORDS.has(status)) return
    this.#byHash.set(name, { ...sent, rawTransaction: undefined, end: status, deposited })
    this.#pending.delete(name)
  }

  /** One that has deposited a validator, or tells that another has; undefined where none does. */
  depositing(chain: string, pubkey: string): SentStaking | undefined {
    return this.carrying(chain, [pubkey]).find(({ end, deposited }) => end === 'mined' || deposited.includes(pubkey))
  }

  of(chain: string, txHash: string): SentStaking | undefined {
    return this.#byHash.get(nameOf(chain, txHash))
  }

  /** Those that may still be mined, of one chain or of all. */
  pending(chain?: string): readonly SentStaking[] {
    const all = [...this.#pending].map((name) => this.#byHash.get(name)).filter((sent) => sent !== undefined)
    return chain === undefined ? all : all.filter((sent) => sent.chain === chain)
  }

  /** Those that may still be mined, of a sender's nonce: of which one can be mined. */
  pendingAt(chain: string, { sender, nonce }: SenderNonce): readonly SentStaking[] {
    return this.pending(chain).filter((sent) => sent.sender === sender && sent.nonce === nonce)
  }

  /** All that carry one of the validators, whatever became of them. */
  carrying(chain: string, pubkeys: readonly string[]): readonly SentStaking[] {
    const names = new Set(pubkeys.flatMap((pubkey) => [...(this.#byKey.get(nameOf(chain, pubkey)) ?? [])]))
    return [...names].map((name) => this.#byHash.get(name)).filter((sent) => sent !== undefined)
  }
}

function nameOf(chain: string, name: string): string {
  return `${chain}:${name}`
}
