import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { daySpan } from '../../schemas/eth/day-span.ts'
import { type DayNumber, dayOfInstant, formatDay, parseDay } from '../../schemas/eth/time.ts'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { type DayProof, type ProofEpoch, validatorProof } from '../../schemas/routes/rewards/validator-proof.ts'
import { type ListPage, pageOf } from '../http/cursor.ts'
import { answerList, operation } from '../http/operation.ts'
import { normalisePubkey } from '../http/pubkey-text.ts'
import { type AccountScope, isIn, seenValidators } from '../http/seen-validators.ts'
import { toDayProof } from './day-proof.ts'
import { type Horizon, horizonOf } from './horizon.ts'
import { selectProof } from './select-proof.ts'
import { validatorDays } from './validator-days.ts'

export const validatorProofOperation = operation(validatorProof, async ({ query }, scope) => {
  const asked = await proofOf(scope, query)
  if (asked.status === 'refused') return asked
  const page: ListPage<ProofEpoch> | Refusal = pageOf(asked.proof.epochs, {
    of: [validatorProof.id, scope.chain, scope.account],
    query,
    keyOf: ({ epoch }) => [String(epoch)],
    isBehind: ({ epoch }, [last = '']) => epoch > Number(last),
  })
  if (page.status === 'refused') return page
  return answerList({ ...asked.proof, epochs: [...page.items] }, page)
})

export type ProofScope = AccountScope & { readonly warehouse: WarehouseReader; readonly nowMs: number }

/** The proof of a validator's day with all its epochs; refused where there is none, with the reason. */
export async function proofOf(
  scope: ProofScope,
  { pubkey: given, date }: { readonly pubkey: string; readonly date: string },
): Promise<Refusal | { readonly status: 'found'; readonly proof: DayProof }> {
  const day = parseDay(date)
  if (day === undefined) return refuse('4001', 'date is not YYYY-MM-DD')
  if (day > dayOfInstant(scope.nowMs / 1_000)) return refuse('4002', 'date')
  const pubkey = normalisePubkey(given)
  const { registered, unregistered } = await seenValidators(scope)
  const validator = registered.find((one) => one.pubkey === pubkey)
  if (validator === undefined) {
    const isOwn = unregistered.some((one) => one.pubkey === pubkey)
    return refuse('400', isOwn ? 'pubkey is not in the registry yet' : 'pubkey is none of the account’s validators')
  }
  if (!validator.intervals.some((days) => isIn(days, day)))
    return refuse('400', `the account did not have the validator on ${date}`)
  const horizon = await horizonOf(scope.standing)
  const span = horizon === undefined ? undefined : closedSpan(horizon, day)
  if (horizon === undefined || span === undefined) return refuse('400', whyNotClosed(horizon, day))
  const days = { from: day, to: day + 1 }
  const [row] = await validatorDays(scope, horizon, { indices: new Set([validator.index]), days })
  if (row === undefined) return refuse('400', `the whole day of the validator is not known: ${date}`)
  const { slotsPerEpoch } = horizon.clock
  const rows = await selectProof(scope.warehouse, { chain: horizon.chain, index: validator.index, span, slotsPerEpoch })
  return { status: 'found', proof: toDayProof({ pubkey, row, span, slotsPerEpoch, rows }) }
}

function closedSpan({ clock, closedDays }: Horizon, day: DayNumber) {
  return closedDays.some((closed) => closed.day === day) ? daySpan(clock, day) : undefined
}

function whyNotClosed(horizon: Horizon | undefined, day: DayNumber): string {
  const newest = horizon?.closedDays.at(-1)?.day
  if (newest === undefined) return 'date is not closed: no day of the chain is yet'
  return day > newest
    ? `date is not closed yet: the newest day that is closed is ${formatDay(newest)}`
    : 'date is not closed: something of the day is missing'
}
