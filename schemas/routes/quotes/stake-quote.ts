import { type Static, Type } from 'typebox'
import { checksumAddress } from '../../eth/address.ts'
import { QuotedTransaction } from '../../jobs/quote-stake.ts'
import { STRATEGIES, STRATEGY_DEFAULT } from '../../strategies.ts'
import { defineQuoteRoute, Source, StakerAddress } from './quote-route.ts'
import { QuotedStrategy } from './strategy-routes.ts'

const StakeQuote = Type.Object(
  {
    ...QuotedStrategy,
    transaction: QuotedTransaction,
  },
  { additionalProperties: false },
)
export type StakeQuote = Static<typeof StakeQuote>

const EXAMPLE_ADDRESS = checksumAddress(`0x${'ad'.repeat(20)}`)

export const stakeQuoteRoute = defineQuoteRoute({
  id: 'getStakeQuote',
  path: '/quote/stake',
  summary: 'A transaction that stakes, with the yield of its strategy',
  description:
    'Prepares validators and answers the transaction that funds them, to be signed by `address`, which is their withdrawal address and ' +
    'fee recipient. The same question is answered with the same validators until the chain’s next multiple of 5 epochs, or until the ' +
    'address has sent a transaction that a node here knows: send one before you sign the next, or both fund the same validators. `429`: too many validators wait for their deposits. A header ' +
    '`x-reason` says what is wrong.',
  query: Type.Object({
    source: Source,
    StrategyId: Type.Enum(
      STRATEGIES.map(({ id }) => id),
      { default: STRATEGY_DEFAULT, description: 'Strategy.' },
    ),
    address: StakerAddress,
    amount: Type.String({
      pattern: '^[1-9][0-9]{0,77}$',
      description: 'What to stake, gwei (or wei) as decimal text: that of 1 to 100 whole validators of the strategy.',
      examples: ['32000000000'],
    }),
  }),
  response: StakeQuote,
  example: {
    strategyId: '32x',
    routes: ['ethereum-solo'],
    weights: ['100%'],
    yieldsBreakdown: ['2.77%', '0.41%'],
    totalYield: '3.18%',
    yieldSource: 'measured',
    transaction: {
      gas: '0x1873b',
      to: checksumAddress(`0x${'de'.repeat(20)}`),
      from: EXAMPLE_ADDRESS,
      value: '0x1bc16d674ec800000',
      data: '0x4f498c73',
      chainId: '0x1',
    },
  },
})
