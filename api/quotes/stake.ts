import { quoteStake } from '../../schemas/jobs/quote-stake.ts'
import { refuseQuote } from '../../schemas/routes/quotes/quote-route.ts'
import { stakeQuoteRoute } from '../../schemas/routes/quotes/stake-quote.ts'
import { strategyOf, validatorsOfAmount } from '../../schemas/strategies.ts'
import { askJob } from '../http/ask-job.ts'
import { depositedFor } from './deposited.ts'
import { quote } from './quote.ts'
import { NO_YIELD, toQuoted } from './routes.ts'
import { readStaker } from './staker.ts'

/** So long a question waits for its validators; none are made after that. */
const QUOTE_MS_MAX = 20_000

export const stakeQuote = quote(stakeQuoteRoute, async (query, scope) => {
  const { source, StrategyId: strategyId, amount } = query
  const strategy = strategyOf(strategyId)
  if (strategy === undefined) return refuseQuote(405, 'StrategyId is not known')
  if (query.address === undefined || amount === undefined) return refuseQuote(405, 'address or amount is missing')
  const staker = readStaker(query.address)
  if (staker.status === 'refused') return staker
  const count = validatorsOfAmount(strategy, amount)
  if (count === undefined) return refuseQuote(405, 'amount is not that of 1 to 100 whole validators')
  const { chain, account, client } = scope
  const yields = await scope.yields.of(scope)
  if (yields === undefined) return refuseQuote(500, NO_YIELD)
  // Who only wants to know whether the page is there must not have keys made.
  if (scope.isHead) return { status: 'askable' }
  const input = {
    ...{ chain, account, strategyId, source, address: staker.address, count, client },
    deposited: await depositedFor(scope, staker.address),
  }
  const output = await askJob(scope, quoteStake, { input, timeoutMs: QUOTE_MS_MAX })
  switch (output?.status) {
    case 'quoted':
      break
    case 'limited':
      return refuseQuote(429, output.reason)
    case 'refused':
      return refuseQuote(500, output.reason)
    case 'unavailable':
    case undefined:
      return refuseQuote(500, 'no quote can be made at the moment')
  }
  return { status: 'quoted', answer: { ...toQuoted(strategy, yields), transaction: output.transaction } }
})
