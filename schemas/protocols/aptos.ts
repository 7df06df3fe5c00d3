import type { Protocol } from './protocol.ts'
import { restProbe, restReads, restWrites } from './routes.ts'

// Its own clients ask for the root with a slash.
const ROOT = ['/v1', '/v1/']

const READS = [
  ...['info', 'spec', 'spec.json', 'spec.yaml', '-/healthy', 'estimate_gas_price', 'blocks/by_height/*'],
  ...['blocks/by_version/*', 'accounts/*', 'accounts/*/resources', 'accounts/*/resource/*', 'accounts/*/modules'],
  ...['accounts/*/module/*', 'accounts/*/balance/*', 'accounts/*/transactions', 'accounts/*/transaction_summaries'],
  ...['accounts/*/events/*', 'accounts/*/events/*/*', 'transactions', 'transactions/by_hash/*'],
  ...['transactions/wait_by_hash/*', 'transactions/by_version/*', 'transactions/auxiliary_info'],
].map((path) => `/v1/${path}`)

const ASKED_BY_POST = [
  ...['view', 'tables/*/item', 'tables/*/raw_item', 'transactions/simulate', 'transactions/encode_submission'],
].map((path) => `/v1/${path}`)

export const APTOS: Protocol = {
  name: 'aptos',
  networks: { mainnet: { identity: '1' } },
  services: [
    {
      name: '',
      routes: [
        ...restReads(['GET'], [...ROOT, ...READS]),
        ...restReads(['POST'], ASKED_BY_POST),
        ...restWrites(['/v1/transactions', '/v1/transactions/batch']),
      ],
      head: restProbe('/v1', 'number', ['block_height']),
      identity: restProbe('/v1', 'number', ['chain_id']),
      lagMax: 450,
    },
  ],
}
