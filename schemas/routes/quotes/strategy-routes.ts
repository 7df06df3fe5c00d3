import { type Static, Type } from 'typebox'
import { defineQuoteRoute, PercentText, Source } from './quote-route.ts'

/** What a strategy is and yields, as every quote of it says. */
export const QuotedStrategy = {
  strategyId: Type.String(),
  routes: Type.Array(Type.String(), { description: 'What the stake is divided among.' }),
  weights: Type.Array(PercentText, { description: 'Share of each route.' }),
  yieldsBreakdown: Type.Array(PercentText, {
    description: 'A year’s yield: of the consensus layer, of the execution layer.',
  }),
  totalYield: PercentText,
  yieldSource: Type.Enum(['measured', 'formula'], {
    description:
      '`measured`: what validators of this index earned on the last closed days. `formula`: it knows too few days or validators, so the ' +
      'consensus part is what the protocol pays at the moment for all duties, and the execution part is not known: 0.00%.',
  }),
}

const StrategyRoutes = Type.Object(
  {
    routes: Type.Array(
      Type.Object(
        { ...QuotedStrategy, isBest: Type.Boolean({ description: 'Yields most; the first of several.' }) },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type StrategyRoutes = Static<typeof StrategyRoutes>

export const strategyRoutesRoute = defineQuoteRoute({
  id: 'getQuoteRoutes',
  path: '/quote/routes',
  summary: 'All strategies, with the best one marked',
  description: 'What can be asked for by `StrategyId`, and what each yields. Nothing is prepared.',
  query: Type.Object({ source: Source }),
  response: StrategyRoutes,
  example: {
    routes: [
      {
        strategyId: '32x',
        routes: ['ethereum-solo'],
        weights: ['100%'],
        yieldsBreakdown: ['2.77%', '0.41%'],
        totalYield: '3.18%',
        yieldSource: 'measured',
        isBest: true,
      },
    ],
  },
})
