import { formatYield } from '../../schemas/eth/yield.ts'
import { refuseQuote } from '../../schemas/routes/quotes/quote-route.ts'
import { strategyRoutesRoute } from '../../schemas/routes/quotes/strategy-routes.ts'
import { STRATEGIES, type Strategy } from '../../schemas/strategies.ts'
import { quote } from './quote.ts'
import type { Yields } from './yields.ts'

/** Where the index has not seen anybody paid. */
export const NO_YIELD = 'the index does not know yet what the chain pays'

/** What every quote of a strategy says of it. */
export function toQuoted({ id, routes, weights }: Strategy, { source, consensus, execution }: Yields) {
  return {
    strategyId: id,
    routes: [...routes],
    weights: [...weights],
    yieldsBreakdown: [formatYield(consensus), formatYield(execution)],
    totalYield: formatYield(consensus + execution),
    yieldSource: source,
  }
}

export const strategyRoutes = quote(strategyRoutesRoute, async (_query, scope) => {
  const yields = await scope.yields.of(scope)
  if (yields === undefined) return refuseQuote(500, NO_YIELD)
  // All of them stake on the one chain in whole validators, so none yields more than the first.
  const routes = STRATEGIES.map((strategy, i) => ({ ...toQuoted(strategy, yields), isBest: i === 0 }))
  return { status: 'quoted', answer: { routes } }
})
