import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { ChangingValidator } from '../ports/beacon-source.ts'
import { askNode, toEpoch, UInt64Text } from './genesis-nodes.ts'
import { IDS_PER_REQUEST_MAX } from './validator-ids.ts'

/** All but `active_ongoing`: the chain has begun to let them in, or to let them go. */
const STATUSES = VALIDATOR_STATUSES.filter((status) => status !== 'active_ongoing')

const Row = Type.Object({
  validator: Type.Object({
    pubkey: Type.String({ pattern: '^0x[0-9a-fA-F]{96}$' }),
    activation_eligibility_epoch: UInt64Text,
    activation_epoch: UInt64Text,
    exit_epoch: UInt64Text,
    withdrawable_epoch: UInt64Text,
  }),
})
const isAnswer = Compile(Type.Object({ data: Type.Array(Row) }))

/**
 * Those of the public keys (lower-case hex) whose validators come or go in the state after a slot. The node leaves out all others, so an
 * answer about a long queue is short. Throws AppError of a node fault.
 */
export async function askChanging(
  node: ChainNode,
  slot: number,
  pubkeys: readonly string[],
): Promise<ReadonlyMap<string, ChangingValidator>> {
  const found = new Map<string, ChangingValidator>()
  for (let from = 0; from < pubkeys.length; from += IDS_PER_REQUEST_MAX) {
    const ids = pubkeys.slice(from, from + IDS_PER_REQUEST_MAX)
    const { data } = await askNode(node, {
      what: `the state of slot ${slot}`,
      path: `/eth/v1/beacon/states/${slot}/validators`,
      body: JSON.stringify({ ids, statuses: STATUSES }),
      shape: isAnswer,
    })
    for (const { validator } of data) {
      const pubkey = validator.pubkey.toLowerCase()
      found.set(pubkey, {
        pubkey,
        eligibilityEpoch: toEpoch(validator.activation_eligibility_epoch),
        activationEpoch: toEpoch(validator.activation_epoch),
        exitEpoch: toEpoch(validator.exit_epoch),
        withdrawableEpoch: toEpoch(validator.withdrawable_epoch),
      })
    }
  }
  return found
}
