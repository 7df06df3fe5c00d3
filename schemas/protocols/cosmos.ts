import type { Protocol, Route } from './protocol.ts'
import { restProbe, restReads, restWrites } from './routes.ts'

const TENDERMINT = '/cosmos/base/tendermint/v1beta1'

/** Modules of the chain, whose queries all read. */
const MODULES = ['cosmos', 'ibc', 'cosmwasm', 'interchain_security', 'feemarket', 'gaia']

/** Left the SDK in its release 0.47: asked for where it has them since. */
const OLD_NAMES: readonly Route[] = ['blocks/latest', 'blocks/*', 'syncing', 'node_info', 'validatorsets/latest'].map(
  (name) => ({ verbs: ['GET'], path: `/${name}`, nodePath: `${TENDERMINT}/${name}`, form: 'rest' }),
)

const COMPUTED = ['simulate', 'encode', 'decode', 'encode/amino', 'decode/amino'].map(
  (name) => `/cosmos/tx/v1beta1/${name}`,
)

export const COSMOS: Protocol = {
  name: 'cosmos',
  networks: { mainnet: { identity: 'cosmoshub-4' } },
  services: [
    {
      name: '',
      routes: [
        ...restReads(
          ['GET'],
          MODULES.map((name) => `/${name}/**`),
        ),
        ...OLD_NAMES,
        // Of the consensus engine, where upstreams have both behind one address.
        ...restReads(['GET'], ['/status']),
        ...restReads(['POST'], COMPUTED),
        ...restWrites(['/cosmos/tx/v1beta1/txs']),
      ],
      head: restProbe(`${TENDERMINT}/blocks/latest`, 'number', ['block', 'header', 'height']),
      identity: restProbe(`${TENDERMINT}/node_info`, 'text', ['default_node_info', 'network']),
      lagMax: 15,
    },
  ],
}
