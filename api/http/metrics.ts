import type { NodeDifference } from '../../infra/ports/node-status.ts'
import type { UnprovenDays } from '../../schemas/tables/day-levels.ts'

/** Of Prometheus' text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** What a node of a chain has told otherwise. */
export interface DifferenceOfNode extends NodeDifference {
  readonly chain: string
  /** "beacon node 2": never an address. */
  readonly node: string
}

export interface Metrics {
  readonly unproven: readonly UnprovenDays[]
  readonly differences: readonly DifferenceOfNode[]
}

/**
 * What is alarmed by, as Prometheus reads it. Names of chains have no character that would have to be escaped (schemas/chains.ts), nor have those of
 * clients (infra/beacon/node-client.ts).
 */
export function formatMetrics({ unproven, differences }: Metrics): string {
  const [days, told] = ['epochline_unproven_validator_days', 'epochline_node_differences_total']
  return [
    `# HELP ${days} Closed days of validators whose balances are not explained to the gwei: rounding is in the figures, unexplained is not, nor is unanchored, what was computed of a state that no block names.`,
    `# TYPE ${days} gauge`,
    ...unproven.map(({ chain, level, validatorDays }) => `${days}{chain="${chain}",level="${level}"} ${validatorDays}`),
    `# HELP ${told} How often a node that this process reads from was found to tell otherwise than figures go by.`,
    `# TYPE ${told} counter`,
    ...differences.map(
      ({ chain, node, client, what, times }) =>
        `${told}{chain="${chain}",node="${node}",client="${client}",what="${what}"} ${times}`,
    ),
    '',
  ].join('\n')
}
