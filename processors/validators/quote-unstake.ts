import type { Log } from '../../infra/ports/log.ts'
import type { UnstakeNode } from '../../infra/ports/unstake-node.ts'
import { isNodeFault } from '../../schemas/errors.ts'
import { KEPT_CONTRACTS } from '../../schemas/eth/kept-logs.ts'
import { EXCESS_SLOT, offeredFee, requestCall, takesRequests } from '../../schemas/eth/withdrawal-request.ts'
import type { QuoteUnstakeInput, QuoteUnstakeOutput } from '../../schemas/jobs/quote-unstake.ts'
import type { StakingChain } from './create-validators.ts'
import { decideUnstake } from './decide-unstake.ts'
import { quotedTransaction } from './quoted-transaction.ts'

/** A withdrawal request takes 136,000 where it is the first one, 102,000 later. */
const REQUEST_GAS = 200_000n

/** A chain that can be unstaked from. */
export interface UnstakeChain extends Pick<StakingChain, 'name' | 'node'> {
  readonly unstakeNode: UnstakeNode
}

export interface Unquoting {
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
}

/** The transaction by which a withdrawal address unstakes; refused where the chain would pass over it. */
export async function quoteUnstakeFor(
  { log, now }: Unquoting,
  chain: UnstakeChain,
  input: QuoteUnstakeInput,
): Promise<QuoteUnstakeOutput> {
  if (now() > input.notAfterMs) return { status: 'unavailable' }
  const [pubkey, ...others] = input.pubkeys === 'all' ? [] : input.pubkeys
  if (pubkey === undefined || others.length > 0) return { status: 'refused', reason: ONE_AT_A_TIME }
  try {
    return await quoteRequest(chain, input, pubkey)
  } catch (error) {
    if (!isNodeFault(error)) throw error
    log.warn({ chain: chain.name, reason: error.message }, 'no quote could be made: no node could be asked')
    return { status: 'unavailable' }
  }
}

const ONE_AT_A_TIME =
  'several validators are unstaked through a contract, and none is configured: ask for one at a time'

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
    unstakeNode.registered([pubkey]),
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
  if (decision.status === 'ignored') return { status: 'refused', reason: decision.reason }
  const transaction = await quotedTransaction(node, {
    from: address,
    to: contract,
    valueWei: offeredFee(excess),
    data: requestCall(pubkey, decision.requestGwei),
    gasFallback: REQUEST_GAS,
  })
  return transaction === undefined ? { status: 'unavailable' } : { status: 'quoted', transaction }
}
