import type { UnprovenDays } from '../../schemas/tables/day-levels.ts'

/** Of Prometheus' text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** What is alarmed by, as Prometheus reads it. Names of chains have no character that would have to be escaped (schemas/chains.ts). */
export function formatMetrics(unproven: readonly UnprovenDays[]): string {
  const name = 'epochline_unproven_validator_days'
  return [
    `# HELP ${name} Closed days of validators whose balances are not explained to the gwei: rounding is in the figures, unexplained is not, nor is unanchored, what was computed of a state that no block names.`,
    `# TYPE ${name} gauge`,
    ...unproven.map(({ chain, level, validatorDays }) => `${name}{chain="${chain}",level="${level}"} ${validatorDays}`),
    '',
  ].join('\n')
}
