import fastify, { type FastifyError } from 'fastify'
import { type Listening, listenOn } from '../listen.ts'
import { registerBlockRoutes } from './block-routes.ts'
import type { BeaconApiContext } from './context.ts'
import { registerEventRoutes } from './event-routes.ts'
import { PubkeyIndex } from './identifiers.ts'
import { registerNodeRoutes } from './node-routes.ts'
import { registerPoolRoutes } from './pool-routes.ts'
import { registerRewardRoutes } from './reward-routes.ts'
import { registerStateRoutes } from './state-routes.ts'

/** A body that names every validator by pubkey, with room. */
const BODY_BYTES_MAX = 16 * 1024 * 1024

/**
 * The standard Beacon API (github.com/ethereum/beacon-APIs) over the chain's history. Port 0 takes a free one.
 * Every failure is answered as `{ code, message }` with the same HTTP status.
 */
export async function openBeaconApi(
  context: BeaconApiContext,
  options: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const server = fastify({ bodyLimit: BODY_BYTES_MAX, forceCloseConnections: true })
  server.setErrorHandler((error: FastifyError, _, reply) => {
    const code = error.statusCode ?? 500
    return reply.code(code).send({ code, message: error.message })
  })
  server.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ code: 404, message: `Route ${request.method}:${request.url.split('?')[0]} not found` }),
  )
  const pubkeys = new PubkeyIndex()
  registerNodeRoutes(server, context)
  registerBlockRoutes(server, context)
  registerStateRoutes(server, context, pubkeys)
  registerRewardRoutes(server, context, pubkeys)
  registerPoolRoutes(server, context)
  registerEventRoutes(server, context)
  return await listenOn(server, { ...options, name: 'Beacon API', portSetting: 'DEVNET_BEACON_PORT' })
}
