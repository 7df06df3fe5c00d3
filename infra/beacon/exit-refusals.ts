import type { ExitRefusal } from '../../schemas/exit-reasons.ts'

// The Beacon API leaves the sentence of a refusal to the node. These are what the clients wrote in 2026 (Lighthouse, Lodestar, Nimbus,
// Prysm, Teku); lower-case, and of two that fit the first counts.

/** The node's pool has an exit of this validator, which nobody else can have made. */
const KNOWN = /already[_ ]exists|already known|not the first|already.{0,20}in.{0,10}pool|duplicate|prior.{0,20}exit/

const REASONS: readonly (readonly [ExitRefusal, RegExp])[] = [
  ['pending_withdrawals', /pending[_ ]?(balance|withdrawal|partial)/],
  ['invalid_signature', /signature/],
  ['short_time_active', /short[_ ]time|not been active long enough|too ?young|validator set long enough/],
  ['early_epoch', /early[_ ]epoch|future|exit epoch not passed|current epoch >= exit epoch/],
  ['already_exited', /already[_ ]?exited|already (submitted|initiated)|has (already )?(initiated|exited)/],
  ['inactive', /inactive|not[_ ]?active|non-active|not yet active/],
]

/** What a node's refusal of an exit says. */
export function toSubmission(sentence: string): { status: 'accepted' } | { status: 'refused'; reason: ExitRefusal } {
  const text = sentence.toLowerCase()
  if (KNOWN.test(text)) return { status: 'accepted' }
  const found = REASONS.find(([, words]) => words.test(text))
  return { status: 'refused', reason: found?.[0] ?? 'unknown' }
}
