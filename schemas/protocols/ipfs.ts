import type { Protocol } from './protocol.ts'
import { restProbe, restReads } from './routes.ts'

/** Of the node's own API what reads by content: by it a node is also set up, pinned to, stopped. */
const API_READS = [
  ...['cat', 'get', 'ls', 'block/get', 'block/stat', 'dag/get', 'dag/resolve', 'dag/stat', 'dag/export'],
  ...['resolve', 'name/resolve', 'version', 'id'],
].map((name) => `/api/v0/${name}`)

/** An identifier that is its content: the six bytes of `"ipfs"`, which every node has. */
const SELF_CONTAINED = 'bafkqabrcnfygm4zc'

export const IPFS: Protocol = {
  name: 'ipfs',
  networks: { pub: { identity: 'ipfs' } },
  services: [
    {
      name: '',
      routes: [...restReads(['GET', 'HEAD'], ['/ipfs/*/**', '/ipns/*/**']), ...restReads(['POST'], API_READS)],
      identity: restProbe(`/ipfs/${SELF_CONTAINED}`, 'text', []),
      lagMax: 0,
      searchesPeers: true,
    },
  ],
}
