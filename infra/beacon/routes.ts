import { routes } from '@lodestar/api/beacon'
import { createChainForkConfig } from '@lodestar/config'
import type { ForkName } from '@lodestar/params'
import { ssz } from '@lodestar/types'
import { bytesOfView } from '../../schemas/bytes-of-view.ts'

// What a route's path, arguments and answers are, ethereum/beacon-APIs has said and @lodestar/api has written down.

/** Only routes that publish blocks look at the configuration, and none of them is asked. */
const config = createChainForkConfig({})

const beacon = routes.beacon.getDefinitions(config)
const { getBlockV2 } = beacon
const { data: block } = getBlockV2.resp

/** A block that is read as SSZ is views of the answer's bytes (`RouteAnswer.bytes`): a million validators' have 60 kB, in some thousand pieces. */
const blockOfViews: typeof block = {
  ...block,
  deserialize: (bytes, { version }: { readonly version: ForkName }) =>
    ssz[version].SignedBeaconBlock.deserialize(bytesOfView(bytes), { reuseBytes: true }),
}

export const BEACON = {
  ...beacon,
  getBlockV2: { ...getBlockV2, resp: { ...getBlockV2.resp, data: blockOfViews } },
}
export const CONFIG = routes.config.getDefinitions(config)
export const DEBUG = routes.debug.getDefinitions(config)
export const NODE = routes.node.getDefinitions(config)
export const EVENTS = routes.events.getDefinitions(config)
export const EVENT_CODECS = routes.events.getTypeByEvent(config)
export const { EventType } = routes.events
