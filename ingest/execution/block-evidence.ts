import type { ExecutionBlock, ExecutionSource } from '../../infra/ports/execution-source.ts'
import type { RelayClaims } from '../../infra/ports/relay-claims.ts'
import { chainKey } from '../../schemas/chains.ts'
import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { explainedBalance } from './balance-change.ts'
import { PayeeAddresses, type PayeeOptions } from './payee-addresses.ts'

/** A block, and by whom it was proposed. */
export interface ProposedBlock {
  readonly proposerIndex: number
  readonly hash: string
  /** The chain's time of the block, ISO 8601. */
  readonly time: string
}

/** What nobody has told of the payment of a tracked proposer's block yet. */
export interface LackingEvidence extends ProposedBlock {
  /** No relay has named the block. */
  readonly claims: boolean
  /** Of whose balances no node knew. */
  readonly addresses: readonly string[]
}

export interface BlockEvidenceOptions extends PayeeOptions {
  readonly execution: Pick<ExecutionSource, 'balanceChanges'>
  readonly relays: Pick<RelayClaims, 'claimsOf' | 'count'>
  /** Hears what was lacking when a block was read. */
  readonly onLacking?: (lacking: LackingEvidence) => void
}

/** What was told, and what still lacks. */
interface Told {
  readonly events: readonly EncodedEvent[]
  readonly lacking: LackingEvidence | undefined
}

/** Finds out what is known of the payments of tracked proposers' blocks beyond their own bytes. */
export class BlockEvidenceReader {
  readonly #options: BlockEvidenceOptions
  readonly #payees: PayeeAddresses

  constructor(options: BlockEvidenceOptions) {
    this.#options = options
    this.#payees = new PayeeAddresses(options)
  }

  /**
   * The event of a block's evidence; none where its proposer is not tracked, or nothing more is known. `time` is the chain's time
   * of the block. Throws AppErrors of node faults.
   */
  async eventsOf(proposerIndex: number, block: ExecutionBlock, time: string): Promise<readonly EncodedEvent[]> {
    const { onLacking } = this.#options
    const all = await this.allOf({ proposerIndex, hash: block.header.hash, time })
    if (all === undefined) return []
    const { events, lacking } = await this.#ask(all, block)
    if (lacking !== undefined) onLacking?.(lacking)
    return events
  }

  /** All that may be asked of a block; undefined where its proposer is not tracked. */
  async allOf(block: ProposedBlock): Promise<LackingEvidence | undefined> {
    const addresses = await this.#payees.of(block.proposerIndex)
    return addresses && { ...block, claims: this.#options.relays.count > 0, addresses }
  }

  /** Asks for the nth time again, for what is lacking alone. Throws AppErrors of node faults. */
  askAgain(lacking: LackingEvidence, block: ExecutionBlock, nth: number): Promise<Told> {
    return this.#ask(lacking, block, `:again:${nth}`)
  }

  async #ask(lacking: LackingEvidence, block: ExecutionBlock, suffix = ''): Promise<Told> {
    const { chain, execution, relays } = this.#options
    const { addresses, time } = lacking
    const { number, hash } = block.header
    const [changes, claims] = await Promise.all([
      addresses.length === 0 ? [] : execution.balanceChanges(addresses, block.header),
      lacking.claims ? relays.claimsOf(hash) : [],
    ])
    const left = {
      ...lacking,
      claims: lacking.claims && claims.length === 0,
      addresses: addresses.filter((_, i) => changes[i] === undefined),
    }
    const stillLacking = isLacking(left) ? left : undefined
    const balances = addresses.flatMap((address, i) => {
      const told = changes[i]
      const change = told === undefined ? undefined : explainedBalance(address, told, block)
      return change === undefined ? [] : [{ address, change }]
    })
    if (balances.length + claims.length === 0) return { events: [], lacking: stillLacking }
    const data = {
      chain,
      number,
      hash,
      balances,
      claims: claims.map((one) => ({ ...one, valueWei: `${one.valueWei}` })),
    }
    const id = `execution.block-evidence:${chain}:${hash}${suffix}`
    const event = encodeEvent(blockEvidence, { id, key: chainKey(chain, hash), time, data })
    return { events: [event], lacking: stillLacking }
  }
}

/** Whether anything is. */
export function isLacking({ claims, addresses }: LackingEvidence): boolean {
  return claims || addresses.length > 0
}
