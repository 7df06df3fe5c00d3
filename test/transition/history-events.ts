/** What a run of random histories must have met often enough. */
export const HISTORY_EVENTS = [
  'genesis_epoch',
  'missed_slot',
  'empty_epoch',
  'proposed_twice',
  'late_attestation',
  'wrong_head',
  'wrong_target',
  'attestation_by_slashed',
  'inactivity_leak',
  'leak_recovery',
  'inactivity_penalty',
  'proposer_slashing',
  'attester_slashing_of_several',
  'correlation_penalty',
  'voluntary_exit',
  'bls_change',
  'partial_withdrawal',
  'full_withdrawal',
  'requested_withdrawal',
  'requested_exit',
  'eth1_top_up',
  'eth1_new_validator',
  'eth1_bad_signature',
  'queued_top_up',
  'queued_new_validator',
  'queued_bad_signature',
  'good_deposit_after_bad',
  'deposit_to_exiting',
  'deposit_to_withdrawn',
  'excess_returned',
  'consolidation',
  'consolidation_with_excess',
  'consolidation_of_slashed',
  'switch_with_excess',
  'switch_with_excess_and_withdrawal',
  'sync_seat_of_exited',
  'sync_seats_of_one',
  'saturated_sync_penalty',
  'saturated_attestation_penalty',
  'saturated_correlation_penalty',
  'balance_near_zero',
  'balance_at_zero',
  'reward_above_32_eth',
  'upgrade_queued_inactive',
  'upgrade_cut_compounding',
] as const

export type HistoryEvent = (typeof HISTORY_EVENTS)[number]
export type EventCounts = Readonly<Record<HistoryEvent, number>>

export function noEvents(): Record<HistoryEvent, number> {
  return Object.fromEntries(HISTORY_EVENTS.map((event) => [event, 0])) as Record<HistoryEvent, number>
}

export function sumEvents(counts: Iterable<EventCounts>): EventCounts {
  const sum = noEvents()
  for (const each of counts) for (const event of HISTORY_EVENTS) sum[event] += each[event]
  return sum
}

/** The events that occurred less than `least` times, with how often; empty where the run saw all. */
export function rareEvents(counts: EventCounts, least: number): readonly (readonly [HistoryEvent, number])[] {
  return HISTORY_EVENTS.map((event) => [event, counts[event]] as const).filter(([, count]) => count < least)
}
