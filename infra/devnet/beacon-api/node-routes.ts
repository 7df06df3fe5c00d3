import type { FastifyInstance } from 'fastify'
import { hexOf } from '../../../schemas/eth/hex.ts'
import { toSpecJson } from '../consensus/chain-config.ts'
import type { BeaconApiContext } from './context.ts'

const VERSION = 'epochline-devnet/0.1.0'

/** A node this many slots behind the clock calls itself synced: the current slot's block may be on its way. */
const SYNCED_DISTANCE_MAX = 1

/** Routes about the node and the network: what a client reads once. */
export function registerNodeRoutes(server: FastifyInstance, context: BeaconApiContext): void {
  const { config, history } = context
  const syncDistance = () => Math.max(0, context.targetSlot() - history.headSlot)
  const spec = toSpecJson(config)

  server.get('/eth/v1/node/version', () => ({ data: { version: VERSION } }))
  server.get('/eth/v1/node/syncing', () => ({
    data: {
      head_slot: String(history.headSlot),
      sync_distance: String(syncDistance()),
      is_syncing: syncDistance() > SYNCED_DISTANCE_MAX,
      is_optimistic: false,
      el_offline: false,
    },
  }))
  server.get('/eth/v1/node/health', (_, reply) => reply.code(syncDistance() > SYNCED_DISTANCE_MAX ? 206 : 200).send())
  server.get('/eth/v1/beacon/genesis', () => ({
    data: {
      genesis_time: String(context.genesisTimeSec),
      genesis_validators_root: hexOf(context.headState().genesisValidatorsRoot),
      genesis_fork_version: hexOf(config.GENESIS_FORK_VERSION),
    },
  }))
  server.get('/eth/v1/config/spec', () => ({ data: spec }))
  server.get('/eth/v1/config/fork_schedule', () => ({
    data: Object.values(config.forks)
      .filter((fork) => Number.isFinite(fork.epoch))
      .map((fork) => ({
        previous_version: hexOf(fork.prevVersion),
        current_version: hexOf(fork.version),
        epoch: String(fork.epoch),
      })),
  }))
  server.get('/eth/v1/config/deposit_contract', () => ({
    data: { chain_id: String(context.chainId), address: context.depositContractAddress },
  }))
}
