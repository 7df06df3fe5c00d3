import type { FastifyPluginAsync } from 'fastify'
import { accountPlugin } from './account/plugin.ts'
import { graphqlPlugin } from './graphql/plugin.ts'
import type { SharedParts } from './http/api-parts.ts'
import { nftPlugin } from './nft/plugin.ts'
import { quotesPlugin } from './quotes/plugin.ts'
import { rewardsPlugin } from './rewards/plugin.ts'
import { validatorsPlugin } from './validators/plugin.ts'

/**
 * What stands behind the listener for one kind of questions, as an encapsulated plugin: its path forms, body rules, error bodies
 * and limits are its own, and no other family feels them.
 */
export type Family = FastifyPluginAsync<SharedParts>

export const FAMILIES: readonly Family[] = [
  rewardsPlugin,
  validatorsPlugin,
  graphqlPlugin,
  quotesPlugin,
  nftPlugin,
  accountPlugin,
]
