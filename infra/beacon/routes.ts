import { routes } from '@lodestar/api/beacon'
import { createChainForkConfig } from '@lodestar/config'

// What a route's path, arguments and answers are, ethereum/beacon-APIs has said and @lodestar/api has written down.

/** Only routes that publish blocks look at the configuration, and none of them is asked. */
const config = createChainForkConfig({})

export const BEACON = routes.beacon.getDefinitions(config)
export const CONFIG = routes.config.getDefinitions(config)
export const DEBUG = routes.debug.getDefinitions(config)
export const NODE = routes.node.getDefinitions(config)
export const EVENTS = routes.events.getDefinitions(config)
export const EVENT_CODECS = routes.events.getTypeByEvent(config)
export const { EventType } = routes.events
