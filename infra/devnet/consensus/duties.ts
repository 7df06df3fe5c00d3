import type { Incident, Rates, Scenario } from '../scenario.ts'
import { type Random, seededRandom } from './random.ts'

/** How one attester votes in its slot. */
export type Vote =
  | { readonly kind: 'none' }
  | { readonly kind: 'cast'; readonly head: 'seen' | 'previous'; readonly delaySlots: number }

/** Who does its duty when: a pure function of seed, scenario, slot and validator. */
export interface Duties {
  proposes(slot: number, validator: number): boolean
  /** The votes of the attesters of a slot, in the order given. */
  votes(slot: number, attesters: ArrayLike<number>): readonly Vote[]
  /** Whether each validator (by index) takes part in the sync aggregate of a slot's block. */
  syncParticipation(slot: number, validators: number): readonly boolean[]
}

const NO_VOTE: Vote = { kind: 'none' }
const TIMELY_VOTE: Vote = { kind: 'cast', head: 'seen', delaySlots: 1 }

/** Delays in slots. Within 5 (the root of 32) the source still counts; the target counts until the end of the next epoch. */
const LATE_DELAY = { from: 2, count: 4 }
const VERY_LATE_DELAY = { from: 6, count: 15 }

type Offline = Extract<Incident, { kind: 'offline' }>

function drawVote(random: Random, rates: Rates, factor: number): Vote {
  const fate = random()
  const head = random() < rates.wrongHead ? 'previous' : 'seen'
  const delay = random()
  const missed = rates.missedAttestation * factor
  const veryLate = missed + rates.veryLateAttestation * factor
  const late = veryLate + rates.lateAttestation * factor
  if (fate < missed) return NO_VOTE
  if (fate < veryLate)
    return { kind: 'cast', head, delaySlots: VERY_LATE_DELAY.from + Math.floor(delay * VERY_LATE_DELAY.count) }
  if (fate < late) return { kind: 'cast', head, delaySlots: LATE_DELAY.from + Math.floor(delay * LATE_DELAY.count) }
  return head === 'seen' ? TIMELY_VOTE : { kind: 'cast', head, delaySlots: 1 }
}

export function createDuties(seed: string, scenario: Scenario): Duties {
  const missedSlots = new Set(
    scenario.incidents.flatMap((incident) => (incident.kind === 'missed' ? incident.slots : [])),
  )
  const offline = scenario.incidents.filter((incident): incident is Offline => incident.kind === 'offline')
  const isOffline = (slot: number, validator: number) =>
    offline.some((o) => slot >= o.fromSlot && slot <= o.toSlot && o.validators.includes(validator))
  const factorOf = (validator: number) =>
    validator % scenario.weakEvery === scenario.weakEvery - 1 ? scenario.weakFactor : 1

  return {
    proposes(slot, validator) {
      if (missedSlots.has(slot) || isOffline(slot, validator)) return false
      return seededRandom(seed, `proposal ${slot}`)() >= scenario.rates.missedProposal * factorOf(validator)
    },
    votes(slot, attesters) {
      const random = seededRandom(seed, `attestations ${slot}`)
      return Array.from(attesters, (validator) => {
        const vote = drawVote(random, scenario.rates, factorOf(validator))
        return isOffline(slot, validator) ? NO_VOTE : vote
      })
    },
    syncParticipation(slot, validators) {
      const random = seededRandom(seed, `sync ${slot}`)
      return Array.from({ length: validators }, (_, validator) => {
        const present = random() >= scenario.rates.missedSync * factorOf(validator)
        return present && !isOffline(slot, validator)
      })
    },
  }
}
