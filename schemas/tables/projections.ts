import { ACCOUNT_TABLES } from './accounts.ts'
import { EXECUTION_TABLES } from './execution.ts'
import { NFT_TABLES } from './nft.ts'
import { REWARD_TABLES } from './rewards.ts'
import { SETTLEMENT_TABLES } from './settlements.ts'
import { USAGE_TABLES } from './usage.ts'
import { VALIDATOR_TABLES } from './validators.ts'

/** A part of the warehouse that can be rebuilt alone: its tables, with the columns of their sort keys. */
export const FAMILIES = {
  rewards: REWARD_TABLES,
  execution: EXECUTION_TABLES,
  settlements: SETTLEMENT_TABLES,
  validators: VALIDATOR_TABLES,
  nft: NFT_TABLES,
  head: {
    beacon_blocks: ['chain', 'slot', 'block_root'],
    chain_queues: ['chain'],
    deposit_queue_fronts: ['chain', 'epoch'],
  },
  accounts: ACCOUNT_TABLES,
  usage: USAGE_TABLES,
  loop: { dead_letters: ['chain', 'consumer_group', 'topic', 'event_id'], role_health: ['part'] },
} as const

export type Family = keyof typeof FAMILIES

/** Every table that is a projection of the log: what a rebuild fills again, with the columns that tell one row from another. */
export const PROJECTIONS = {
  ...FAMILIES.rewards,
  ...FAMILIES.execution,
  ...FAMILIES.settlements,
  ...FAMILIES.validators,
  ...FAMILIES.nft,
  ...FAMILIES.head,
  ...FAMILIES.accounts,
  ...FAMILIES.usage,
  ...FAMILIES.loop,
} as const satisfies Record<string, readonly string[]>

export type Projection = keyof typeof PROJECTIONS

/** Tables whose rows belong to an account, or to the program, and not to a chain. */
export const CHAINLESS_PROJECTIONS: ReadonlySet<Projection> = new Set<Projection>([
  'access_tokens',
  'order_ends',
  'fee_rates',
  'settlement_locks',
  'role_health',
  'usage_minutes',
])
