import { Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Address, Chain } from './fields.ts'

const DepositContractTold = Type.Object({ chain: Chain, address: Address })

/**
 * The contract that a chain takes deposits from, as its beacon node tells it: anybody can emit the logs of one. Keyed by the chain; id
 * `chain.deposit-contract:<chain>:<address>`.
 */
export const depositContractTold = jsonEvent(
  { name: 'chain.deposit-contract', version: 1, topic: 'validators' },
  DepositContractTold,
)
