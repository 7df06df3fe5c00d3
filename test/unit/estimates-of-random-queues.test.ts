import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { beforeAll, expect, test } from 'vitest'
import { statusEstimates } from '../../api/validators/status-estimates.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { type Random, seededRandom } from '../../infra/devnet/consensus/random.ts'
import { queueRules, queuesEvent } from '../../ingest/queues/queue-event.ts'
import { toQueueFacts } from '../../processors/head/queues.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { VALIDATOR_STATUSES, type ValidatorStatus } from '../../schemas/events/beacon-epoch.ts'
import { beaconQueues } from '../../schemas/events/beacon-queues.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import type { QueueFacts } from '../../schemas/tables/chain-queues.ts'
import { tries } from '../long-form.ts'
import { QUEUE_SPEC } from './queue-spec.ts'
import { queuesOfState } from './queues-of-state.ts'
import {
  baseState,
  COMING,
  consolidate,
  deposit,
  endEpoch,
  exit,
  finalize,
  GENESIS_TIME_SEC,
  LEAVING,
  LOOK_EPOCH,
  leaveBy,
  moveTo,
  type WaitingState,
  withdrawPart,
} from './waiting-chain.ts'

// What is estimated in one epoch of up to 500 deposits and up to 100 exits that wait, compared with what the library's own epoch
// transitions make of it over the epochs that follow. A calm chain does as was foreseen: then nothing may be off.

const CASES = tries(6, 250)
const DEPOSITS_MAX = 500
const EXITS_MAX = 100
const EPOCHS_PLAYED_MAX = 600
const clock = { genesisTimeSec: GENESIS_TIME_SEC, secondsPerSlot: 12, slotsPerEpoch: SLOTS_PER_EPOCH }
const horizon = { clock, epoch: LOOK_EPOCH - 3 }
const TARGET = 0
/** So many exits that nobody knew of come before the one that was looked at: what mainnet's limit lets out in an epoch. */
const OVERTAKEN_BY_MAX = 8
/** Asks for its exit in the epoch of the look. */
const ASKING = 1
const FIRST_FREE = 2

let base: WaitingState
beforeAll(async () => {
  base = await baseState()
})

interface Guess {
  readonly index: number
  readonly epoch: number
  readonly band: number
}

interface Compared {
  readonly error: number
  readonly band: number
}

const upTo = (random: Random, max: number) => Math.floor(random() * (max + 1))
/** Mostly that of one validator, sometimes less, and seldom as much as one may have. */
function ethOf(random: Random): number {
  const kind = random()
  return kind < 0.9 ? 32 : 1 + upTo(random, kind < 0.98 ? 31 : 2_047)
}

/** What has been asked of the exit queue in the epochs before: full exits, partial withdrawals, and consolidations, which have their own. */
function fillExits(state: WaitingState, random: Random, isConsolidating: boolean): void {
  let next = FIRST_FREE
  for (let left = upTo(random, EXITS_MAX); left > 0; left--) {
    moveTo(state, LOOK_EPOCH - (left % 9))
    const kind = random()
    if (kind < 0.7) exit(state, next++, ethOf(random))
    else if (kind < 0.9 || !isConsolidating) withdrawPart(state, TARGET, ethOf(random))
    else consolidate(state, next++, TARGET)
  }
}

/** A queue of deposits; those for validators that come are ours, the last one among them. */
function fillDeposits(state: WaitingState, random: Random): readonly number[] {
  for (let index = LEAVING[0]; index < LEAVING[1]; index++) leaveBy(state, index, LOOK_EPOCH - 3 + upTo(random, 90))
  const ours: number[] = []
  const count = 1 + upTo(random, DEPOSITS_MAX - 1)
  const firstSlot = (LOOK_EPOCH - 6) * SLOTS_PER_EPOCH
  for (let i = 0; i < count; i++) {
    const slot = firstSlot + Math.floor((i * 6 * SLOTS_PER_EPOCH) / count)
    const kind = random()
    const coming = COMING[0] + ours.length
    if ((kind < 0.15 || i === count - 1) && coming < COMING[1]) {
      deposit(state, { index: coming, eth: 31, slot }, random)
      ours.push(coming)
    } else if (kind < 0.25) deposit(state, { index: LEAVING[0] + upTo(random, 39), eth: ethOf(random), slot }, random)
    else if (kind < 0.35) deposit(state, { index: 150 + upTo(random, 100), eth: ethOf(random), slot }, random)
    else deposit(state, { index: undefined, eth: ethOf(random), slot }, random)
  }
  return ours
}

function factsOf(state: WaitingState, isTold: boolean): QueueFacts {
  const own = new Set(Array.from({ length: COMING[1] - COMING[0] }, (_, i) => hexOf(pubkeyOf(COMING[0] + i))))
  const queues = queuesOfState(state, { own, isTold })
  const event = queuesEvent({ chain: { name: 'random', clock }, rules: queueRules(QUEUE_SPEC), queues, own })
  return toQueueFacts(decodeEvent(beaconQueues, event))
}

function look(facts: QueueFacts, index: number, what: 'active' | 'exit'): Guess {
  const isComing = what === 'active'
  const far = String(2n ** 64n - 1n)
  const gwei = isComing ? '1000000000' : '32000000000'
  const status: ValidatorStatus = isComing ? 'pending_initialized' : 'active_ongoing'
  const registered = {
    ...{ validator_index: index, balance_gwei: gwei, effective_balance_gwei: gwei, slashed: 0 },
    ...{ status: VALIDATOR_STATUSES.indexOf(status), activation_epoch: isComing ? far : '0' },
    ...{ exit_epoch: far, withdrawable_epoch: far },
  }
  const validator = { pubkey: hexOf(pubkeyOf(index)), registered, depositSlot: undefined, isNeedExit: !isComing }
  const found = statusEstimates(validator, { horizon, facts, swept: new Map() })
  const epochSec = clock.secondsPerSlot * SLOTS_PER_EPOCH
  const instant = found[`estimated_${what}_at`]
  if (instant === null) throw new Error(`${index} has no estimate`)
  const epoch = (Date.parse(instant) / 1_000 - GENESIS_TIME_SEC) / epochSec
  return { index, epoch, band: (found.error_seconds[what] as number) / epochSec }
}

/** What nobody can foresee: epochs that do not become final, stake that changes, exits that come first, and of validators with deposits. */
function disturb(state: WaitingState, epoch: number, random: Random): void {
  const { totalActiveBalanceIncrements: eth } = state.epochCtx
  state.epochCtx.totalActiveBalanceIncrements = Math.round(eth * (1 + (random() - 0.5) / 2_500))
  const leaving = 150 + upTo(random, 100)
  if (random() < 0.05 && state.validators.getReadonly(leaving).exitEpoch === Number.POSITIVE_INFINITY)
    exit(state, leaving, 32)
  if (random() >= 0.03 || epoch === LOOK_EPOCH) finalize(state, epoch - 1)
}

function play(state: WaitingState, ours: readonly number[], random: Random | undefined): void {
  const first = random === undefined ? 0 : upTo(random, OVERTAKEN_BY_MAX)
  for (let i = 0; i < first; i++) exit(state, 110 + i, 32)
  const isLate = random !== undefined && random() < 0.2
  for (let epoch = LOOK_EPOCH; epoch < LOOK_EPOCH + EPOCHS_PLAYED_MAX; epoch++) {
    moveTo(state, epoch)
    if (epoch === LOOK_EPOCH + (isLate ? 1 : 0)) exit(state, ASKING, 32)
    if (random === undefined) finalize(state, epoch - 1)
    else disturb(state, epoch, random)
    endEpoch(state)
    if (ours.every((index) => Number.isFinite(state.validators.getReadonly(index).activationEpoch))) return
  }
  throw new Error(`somebody is not active after ${EPOCHS_PLAYED_MAX} epochs`)
}

/** Estimates in a random state, and what came of it. */
function run(name: string, { isCalm, isTold }: { readonly isCalm: boolean; readonly isTold: boolean }) {
  const random = seededRandom('random queues', name)
  const state = base.clone()
  state.epochCtx.totalActiveBalanceIncrements = 1_000_000 + upTo(random, 50_000_000)
  fillExits(state, random, state.epochCtx.totalActiveBalanceIncrements > 20_000_000)
  const ours = fillDeposits(state, random)
  state.depositBalanceToConsume = BigInt(upTo(random, 100)) * 1_000_000_000n
  moveTo(state, LOOK_EPOCH)
  finalize(state, LOOK_EPOCH - 2)
  state.commit()
  const facts = factsOf(state, isTold)
  const guesses = ours.map((index) => look(facts, index, 'active'))
  const guess = look(facts, ASKING, 'exit')
  play(state, ours, isCalm ? undefined : random)
  const compare = ({ index, epoch, band }: Guess, field: 'activationEpoch' | 'exitEpoch'): Compared => {
    return { error: epoch - state.validators.getReadonly(index)[field], band }
  }
  return { activations: guesses.map((one) => compare(one, 'activationEpoch')), exit: compare(guess, 'exitEpoch') }
}

function share(errors: readonly Compared[], isRight: (one: Compared) => boolean): number {
  return errors.filter(isRight).length / errors.length
}

const within2 = ({ error }: Compared) => Math.abs(error) <= 2
const inBand = ({ error, band }: Compared) => Math.abs(error) <= band

function print(what: string, errors: readonly Compared[]): void {
  const percent = (isRight: (one: Compared) => boolean) => `${(100 * share(errors, isRight)).toFixed(1)} %`
  const off = [0, 1, 2].map((epochs) => `${epochs}: ${percent(({ error }) => Math.abs(error) === epochs)}`)
  const largest = errors.reduce((most, { error }) => Math.max(most, Math.abs(error)), 0)
  const text = `epochs off ${off.join(', ')}, more: ${percent((one) => !within2(one))}, largest ${largest}`
  process.stdout.write(`${what}: ${errors.length} estimates, ${text}; ${percent(inBand)} within their error\n`)
}

test('a chain that does as was foreseen does so in exactly the epochs that were estimated', () => {
  const found = Array.from({ length: CASES }, (_, i) => run(`calm ${i}`, { isCalm: true, isTold: true }))
  const activations = found.flatMap((one) => one.activations)
  print('activations, calm', activations)
  print(
    'exits, calm',
    found.map((one) => one.exit),
  )
  expect(activations.length).toBeGreaterThan(CASES * 10)
  expect(activations.filter(({ error }) => error !== 0)).toEqual([])
  expect(found.map((one) => one.exit.error).filter((error) => error !== 0)).toEqual([])
})

test('on a chain on which more happens 95 % come within two epochs', () => {
  const found = Array.from({ length: CASES }, (_, i) => run(`lively ${i}`, { isCalm: false, isTold: true }))
  const activations = found.flatMap((one) => one.activations)
  const exits = found.map((one) => one.exit)
  print('activations, lively', activations)
  print('exits, lively', exits)
  for (const errors of [activations, exits]) expect(share(errors, within2)).toBeGreaterThanOrEqual(0.95)
})

test('where the node keeps its state to itself an exit is told with a wider error, and lies within it', () => {
  const exits = Array.from({ length: CASES }, (_, i) => run(`untold ${i}`, { isCalm: true, isTold: false }).exit)
  print('exits, by what is scheduled', exits)
  expect(share(exits, within2)).toBeGreaterThanOrEqual(0.95)
  expect(share(exits, inBand)).toBeGreaterThanOrEqual(0.95)
})
