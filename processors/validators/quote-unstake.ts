import type { Log } from '../../infra/ports/log.ts'
import type { UnstakeNode } from '../../infra/ports/unstake-node.ts'
import { isNodeFault } from '../../schemas/errors.ts'
import { KEPT_CONTRACTS } from '../../schemas/eth/kept-logs.ts'
import { EXCESS_SLOT, offeredFee, requestCall, takesRequests } from '../../schemas/eth/withdrawal-request.ts'
import type { QuoteUnstakeInput, QuoteUnstakeOutput } from '../../schemas/jobs/quote-unstake.ts'
import { type Clocks, isLate } from './clocks.ts'
import type { StakingChain } from './create-validators.ts'
import { decideUnstake } from './decide-unstake.ts'
import type { CallViewing } from './exit/view-call.ts'
import { quoteCall } from './quote-call.ts'
import type { FundedKeys } from './quoted-keys.ts'
import { quotedTransaction } from './quoted-transaction.ts'
import type { RegisteredKeys } from './registered-keys.ts'

/** A withdrawal request takes 136,000 where it is the first one, 102,000 later. */
const REQUEST_GAS = 200_000n

/** A chain that can be unstaked from. */
export interface UnstakeChain extends Pick<StakingChain, 'name' | 'node'> {
  readonly unstakeNode: UnstakeNode
  /** Takes requests for the exits of several validators, lower-case hex; undefined where none is configured. */
  readonly exitContract: string | undefined
}

export interface Unquoting extends CallViewing, Clocks {
  readonly log: Log
  readonly funded: FundedKeys
  readonly registered: Pick<RegisteredKeys, 'credentialsOf' | 'readOn'>
}

/** The transaction by which a withdrawal address unstakes; refused where the chain would pass over it. */
export async function quoteUnstakeFor(
  unquoting: Unquoting,
  chain: UnstakeChain,
  input: QuoteUnstakeInput,
): Promise<QuoteUnstakeOutput> {
  const { log } = unquoting
  if (isLate(unquoting, input.notAfterMs)) return { status: 'unavailable' }
  const [pubkey, ...others] = input.pubkeys === 'all' ? [] : input.pubkeys
  try {
    if (pubkey !== undefined && others.length === 0) return await quoteRequest(chain, input, pubkey)
    return await quoteCall(unquoting, chain, input)
  } catch (error) {
    if (!isNodeFault(error)) throw error
    log.warn({ chain: chain.name, reason: error.message }, 'no quote could be made: no node could be asked')
    return { status: 'unavailable' }
  }
}

/** EIP-7002: the withdrawal address itself asks the chain. */
async function quoteRequest(
  { node, unstakeNode }: UnstakeChain,
  { address, amountGwei }: QuoteUnstakeInput,
  pubkey: string,
): Promise<QuoteUnstakeOutput> {
  const contract = KEPT_CONTRACTS.withdrawalRequests
  const [facts, headEpoch, registered, pending, hasCode, excess] = await Promise.all([
    unstakeNode.facts(),
    unstakeNode.headEpoch(),
    unstakeNode.registered([pubkey], 'head'),
    unstakeNode.pendingPartials(),
    node.hasCode(contract),
    node.storageAt(contract, EXCESS_SLOT),
  ])
  if (!hasCode || !takesRequests(excess)) return { status: 'refused', reason: 'the chain takes no withdrawal requests' }
  const validator = registered.get(pubkey)
  const decision = decideUnstake({
    address,
    amountGwei: amountGwei === undefined ? undefined : BigInt(amountGwei),
    validator,
    headEpoch,
    facts,
    pendingGwei: validator === undefined ? 0n : (pending.get(validator.index) ?? 0n),
  })
  if (decision.status === 'ignored')
    return { status: 'refused', reason: decision.reason, ...(validator === undefined ? { unknown: pubkey } : {}) }
  const transaction = await quotedTransaction(node, {
    from: address,
    to: contract,
    valueWei: offeredFee(excess),
    data: requestCall(pubkey, decision.requestGwei),
    gasFallback: REQUEST_GAS,
  })
  return transaction === undefined ? { status: 'unavailable' } : { status: 'quoted', transaction }
}
