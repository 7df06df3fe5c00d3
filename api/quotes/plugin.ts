import type { FastifyInstance } from 'fastify'
import type { SharedParts } from '../http/api-parts.ts'
import { addressBalance, addressValidator } from './address.ts'
import { type Quote, serveQuotes } from './quote.ts'
import { strategyRoutes } from './routes.ts'
import { stakeQuote } from './stake.ts'
import { unstakeQuote } from './unstake.ts'

export const QUOTES: readonly Quote[] = [stakeQuote, unstakeQuote, strategyRoutes, addressBalance, addressValidator]

/** Quotes for staking on the chain that is configured for them, for whoever asks. */
export async function quotesPlugin(app: FastifyInstance, parts: SharedParts): Promise<void> {
  serveQuotes(app, QUOTES, parts)
}
