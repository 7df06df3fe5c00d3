import type { Protocol, Route } from './protocol.ts'
import { restProbe, restReads, restWrites } from './routes.ts'

const under = (base: string, paths: readonly string[]) => paths.map((path) => `${base}/${path}`)

const STATE = under('/eth/v1/beacon/states/*', [
  ...['root', 'fork', 'finality_checkpoints', 'validators', 'validators/*', 'validator_balances', 'committees'],
  ...['sync_committees', 'randao', 'pending_deposits', 'pending_partial_withdrawals', 'pending_consolidations'],
  'proposer_lookahead',
])

const BLOCKS = [
  ...under('/eth/v1/beacon', ['genesis', 'headers', 'headers/*', 'blinded_blocks/*', 'blob_sidecars/*', 'blobs/*']),
  ...under('/eth/v1/beacon', ['blocks/*/root', 'blocks/*/attestations', 'rewards/blocks/*', 'deposit_snapshot']),
  ...under('/eth/v1/beacon', ['execution_payload_envelopes/*']),
  ...under('/eth/v2/beacon', ['blocks/*', 'blocks/*/attestations']),
]

const POOLS = [
  ...under('/eth/v1/beacon/pool', ['attestations', 'attester_slashings', 'proposer_slashings', 'voluntary_exits']),
  ...under('/eth/v1/beacon/pool', ['bls_to_execution_changes', 'payload_attestations']),
  ...under('/eth/v2/beacon/pool', ['attestations', 'attester_slashings']),
]

const LIGHT_CLIENT = under('/eth/v1/beacon/light_client', [
  ...['bootstrap/*', 'updates', 'finality_update', 'optimistic_update'],
])

const NODE = [
  ...under('/eth/v1/node', ['identity', 'peers', 'peers/*', 'peer_count', 'version', 'syncing', 'health']),
  ...under('/eth/v2/node', ['version']),
  ...under('/eth/v1/config', ['fork_schedule', 'spec', 'deposit_contract']),
  ...under('/eth/v1/debug', ['beacon/heads', 'fork_choice', 'beacon/data_column_sidecars/*']),
  ...under('/eth/v2/debug', ['beacon/states/*', 'beacon/heads', 'fork_choice']),
  ...under('/eth/v1/builder', ['states/*/expected_withdrawals']),
]

/** Questions whose list of validators is too long for a path. */
const ASKED_BY_POST = [
  ...under('/eth/v1/beacon/states/*', ['validators', 'validator_balances', 'validator_identities', 'builders']),
  ...under('/eth/v1/beacon/rewards', ['sync_committee/*', 'attestations/*']),
  ...under('/eth/v1/validator', ['duties/attester/*', 'duties/sync/*', 'duties/ptc/*', 'liveness/*']),
]

// Of /eth/v1/validator only what everybody may know: what else is there sets up a node for somebody's validators (whose fees go
// where, which subnets it listens to), or makes it build blocks.
const DUTIES = ['/eth/v1/validator/duties/proposer/*', '/eth/v2/validator/duties/proposer/*']

/** Signed by who may say so, and the same from whichever node. */
const PUBLISHED = [
  ...POOLS,
  ...under('/eth/v1/beacon', ['pool/sync_committees', 'blocks']),
  ...under('/eth/v2/beacon', ['blocks']),
]

/** Slots of three epochs, before which everything is final where the chain is well: nodes make room of final states. */
const STATES_KEPT = 96

/** With where they name a state, if they do: behind the segment `states`. */
function namingStates(routes: readonly Route[]): readonly Route[] {
  return routes.map((route) => {
    const at = route.path.split('/').indexOf('states')
    return at < 0 ? route : { ...route, blockAt: at + 1 }
  })
}

/** The Beacon API. Identities are roots of the validators at genesis. */
export const ETHEREUM2: Protocol = {
  name: 'ethereum2',
  statesKept: STATES_KEPT,
  networks: {
    mainnet: { identity: '0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95' },
    prater: {
      identity: '0x043db0d9a83813551ee2f33450d23797757d430911a9320530ad8a0eabc43efb',
      isRetired: true,
    },
    holesky: {
      identity: '0x9143aa7c615a7f7115e2b6aac319c03529df8242ae705fba9df39b79c59fa8b1',
      isRetired: true,
    },
    sepolia: { identity: '0xd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078' },
  },
  services: [
    {
      name: '',
      routes: [
        ...namingStates(restReads(['GET'], [...STATE, ...BLOCKS, ...POOLS, ...LIGHT_CLIENT, ...NODE, ...DUTIES])),
        { verbs: ['GET'], path: '/eth/v1/events', form: 'rest', isStream: true },
        ...namingStates(restReads(['POST'], ASKED_BY_POST)),
        ...restWrites(PUBLISHED),
      ],
      head: restProbe('/eth/v1/node/syncing', 'number', ['data', 'head_slot']),
      identity: restProbe('/eth/v1/beacon/genesis', 'text', ['data', 'genesis_validators_root']),
      lagMax: 6,
    },
  ],
}
