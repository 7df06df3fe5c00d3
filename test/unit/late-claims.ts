import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { GIVEN_CHAIN, givenKey } from './given-chain.ts'

/** Where all validators of the given chain are paid. */
export const PAID_AT = `0x${'fe'.repeat(20)}`

/** Where they are withdrawn to. */
export const WITHDRAWN_TO = `0x${'cc'.repeat(20)}`

/**
 * What a node and a relay tell late of a block of the given chain: contracts paid its proposer so much. Of a local block this is above its tips; of
 * a builder's it is told together with what the builder has sent.
 */
export function lateClaim(block: EncodedEvent, wei: bigint, sentWei = 0n, at = PAID_AT): EncodedEvent {
  const { number, hash } = decodeEvent(executionBlock, block).header
  const none = { beforeWei: '0', withdrawalsWei: '0', receivedWei: '0', spentWei: '0', tipsWei: '0' }
  const claim = { relay: 'relay 1', feeRecipient: at, builderPubkey: givenKey(0), slot: number }
  const data = {
    ...{ chain: GIVEN_CHAIN, number, hash },
    balances: [{ address: at, change: { ...none, afterWei: `${wei}` } }],
    claims: [{ ...claim, proposerPubkey: givenKey(number % 6), valueWei: `${wei + sentWei}` }],
  }
  const id = `execution.block-evidence:${GIVEN_CHAIN}:${hash}:again:1`
  return encodeEvent(blockEvidence, { id, key: block.key, time: block.time, data })
}
