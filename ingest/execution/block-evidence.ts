import type { ExecutionBlock, ExecutionSource } from '../../infra/ports/execution-source.ts'
import type { RelayClaims } from '../../infra/ports/relay-claims.ts'
import { chainKey } from '../../schemas/chains.ts'
import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { explainedBalance } from './balance-change.ts'
import { PayeeAddresses, type PayeeOptions } from './payee-addresses.ts'

export interface BlockEvidenceOptions extends PayeeOptions {
  readonly execution: Pick<ExecutionSource, 'balanceChanges'>
  readonly relays: Pick<RelayClaims, 'claimsOf'>
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
    const { chain, execution, relays } = this.#options
    const addresses = await this.#payees.of(proposerIndex)
    if (addresses === undefined) return []
    const { number, hash } = block.header
    const [changes, claims] = await Promise.all([
      addresses.length === 0 ? [] : execution.balanceChanges(addresses, block.header),
      relays.claimsOf(hash),
    ])
    const balances = addresses.flatMap((address, i) => {
      const told = changes[i]
      const change = told === undefined ? undefined : explainedBalance(address, told, block)
      return change === undefined ? [] : [{ address, change }]
    })
    if (balances.length + claims.length === 0) return []
    const data = {
      chain,
      number,
      hash,
      balances,
      claims: claims.map((one) => ({ ...one, valueWei: `${one.valueWei}` })),
    }
    const id = `execution.block-evidence:${chain}:${hash}`
    return [encodeEvent(blockEvidence, { id, key: chainKey(chain, hash), time, data })]
  }
}
