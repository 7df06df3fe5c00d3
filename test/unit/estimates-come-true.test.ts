import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EstimatedValidator, statusEstimates } from '../../api/validators/status-estimates.ts'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import { queueRules, queuesEvent } from '../../ingest/queues/queue-event.ts'
import { toQueueFacts } from '../../processors/head/queues.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { epochOf, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { beaconQueues } from '../../schemas/events/beacon-queues.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { openCrowdedDevnet } from '../devnet/queues.ts'
import { PATIENCE, tries } from '../long-form.ts'
import { silentLog } from './silent-log.ts'

// What is estimated at a node's head, compared with what its chain then does: the queues are read as ingest reads them.

const SLOTS_PER_EPOCH = 32
const VALIDATORS = 160
const DEPOSITS = tries(40, 500)
const EXITS = tries(24, 100)
const DEPOSITS_FROM_SLOT = 3 * SLOTS_PER_EPOCH + 2
const DEPOSITS_PER_BLOCK = 16
const EXITS_FROM_EPOCH = 4
/** Exits that join the queue later, and that nobody knows of before. */
const LATER_EXITS = [5, 6, 7].map((epoch) => epoch * SLOTS_PER_EPOCH + 20)
/** Four validators an epoch get in or out, and seven epochs pass before one is active. */
const LAST_EPOCH = Math.ceil(Math.max(DEPOSITS, EXITS + LATER_EXITS.length) / 4) + 16
/** A chain of some forty epochs takes seconds, on a busy machine a minute. */
const LIFE_MS = 90_000 * PATIENCE
/** In these epochs all that waits is estimated. */
const LOOKS = [4, 5, 6, 8, 11, 20, 40, 80]

/** Before all deposits, and for validators that leave before it is final: it goes to the end of the queue, and takes nothing of the limit. */
const POSTPONED = { slot: DEPOSITS_FROM_SLOT - 1, validators: [0, 1, 2, 3, 4, 5, 6, 7], amountGwei: 100_000_000_000n }

const own = new Set(Array.from({ length: VALIDATORS + DEPOSITS }, (_, i) => hexOf(pubkeyOf(i))))

let devnet: Devnet
let source: BeaconSource
beforeAll(async () => {
  devnet = await openCrowdedDevnet({
    validators: VALIDATORS,
    deposits: { count: DEPOSITS, fromSlot: DEPOSITS_FROM_SLOT, perBlock: DEPOSITS_PER_BLOCK },
    exits: { count: EXITS, fromEpoch: EXITS_FROM_EPOCH },
    laterExits: LATER_EXITS,
    topUps: POSTPONED,
  })
  source = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
})
afterAll(async () => {
  await source[Symbol.asyncDispose]()
  await devnet[Symbol.asyncDispose]()
})

/** Everything that the API has at this moment. */
async function look() {
  const { clock, spec } = await source.chain()
  const queues = await source.queues([...own])
  const event = queuesEvent({ chain: { name: 'devnet', clock }, rules: queueRules(spec), queues, own })
  const facts = toQueueFacts(decodeEvent(beaconQueues, event))
  const checkpoint = await source.finalized()
  const horizon = { clock, epoch: checkpoint.epoch - 1 }
  const slot = lastSlotOfEpoch(clock, horizon.epoch)
  const everybody = Uint32Array.from({ length: VALIDATORS + DEPOSITS }, (_, i) => i)
  const rows = await source.finalChain(checkpoint).validators(slot, everybody)
  const estimate = (index: number, isNeedExit: boolean) => {
    const row = rows.validatorIndex.indexOf(index)
    const isDeposit = index >= VALIDATORS
    const registered: EstimatedValidator['registered'] =
      row < 0
        ? undefined
        : {
            validator_index: index,
            balance_gwei: String(rows.balanceGwei[row]),
            effective_balance_gwei: String(BigInt(rows.effectiveBalanceEth[row] as number) * 1_000_000_000n),
            status: rows.status[row] as number,
            slashed: 0,
            activation_epoch: String(rows.activationEpoch[row]),
            exit_epoch: String(rows.exitEpoch[row]),
            withdrawable_epoch: String(rows.withdrawableEpoch[row]),
          }
    const validator = {
      pubkey: hexOf(pubkeyOf(index)),
      registered,
      depositSlot: isDeposit ? depositSlotOf(index) : undefined,
      isNeedExit,
    }
    const found = statusEstimates(validator, { horizon, facts, swept: new Map() })
    const epochAt = (instant: string | null) =>
      instant === null
        ? undefined
        : (Date.parse(instant) / 1_000 - clock.genesisTimeSec) / clock.secondsPerSlot / SLOTS_PER_EPOCH
    const bandOf = (seconds: number | null) => (seconds ?? 0) / clock.secondsPerSlot / SLOTS_PER_EPOCH
    return {
      active: epochAt(found.estimated_active_at),
      exit: epochAt(found.estimated_exit_at),
      activeBand: bandOf(found.error_seconds.active),
      exitBand: bandOf(found.error_seconds.exit),
    }
  }
  return { headEpoch: epochOf(clock, facts.slot), estimate }
}

/** The chain takes the deposits in the blocks that it has: a missed slot delays nothing, for its deposits never come. */
function depositSlotOf(index: number): number {
  return DEPOSITS_FROM_SLOT + Math.floor((index - VALIDATORS) / DEPOSITS_PER_BLOCK)
}

interface Guess {
  readonly index: number
  readonly epoch: number
  readonly band: number
  readonly lookedIn: number
}

function errorsOf(guesses: readonly Guess[], field: 'activationEpoch' | 'exitEpoch') {
  const { registry } = devnet.history.head
  const indexOf = new Map(registry.map(({ pubkey }, index) => [hexOf(pubkey), index]))
  return guesses.flatMap(({ index, epoch, band, lookedIn }) => {
    const happened = registry[indexOf.get(hexOf(pubkeyOf(index))) ?? -1]?.[field]
    return happened === undefined || !Number.isFinite(happened)
      ? []
      : [{ index, lookedIn, error: epoch - happened, band }]
  })
}

function summary(what: string, errors: ReturnType<typeof errorsOf>): string {
  const sizes = errors.map(({ error }) => Math.abs(error)).sort((a, b) => a - b)
  const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length
  const within = sizes.filter((size) => size <= 2).length
  return `${what}: ${sizes.length} estimates, mean error ${mean.toFixed(2)} epochs, largest ${sizes.at(-1)}, ${within} within 2`
}

function share(
  errors: ReturnType<typeof errorsOf>,
  isRight: (one: { error: number; band: number }) => boolean,
): number {
  return errors.filter(isRight).length / errors.length
}

test('activations and exits come when they were estimated to come', { timeout: LIFE_MS }, async () => {
  const activations: Guess[] = []
  const exits: Guess[] = []
  const fixedAtHead: Guess[] = []
  for (let epoch = 3; epoch <= LAST_EPOCH; epoch++) {
    const later = LATER_EXITS.findIndex((slot) => Math.floor(slot / SLOTS_PER_EPOCH) === epoch)
    if (later >= 0) {
      await devnet.advanceTo((LATER_EXITS[later] as number) - 1)
      const { estimate, headEpoch } = await look()
      const index = EXITS + later
      const { exit, exitBand } = estimate(index, true)
      exits.push({ index, epoch: exit ?? Number.NaN, band: exitBand, lookedIn: headEpoch })
    }
    const included = LATER_EXITS.findIndex((slot) => Math.floor(slot / SLOTS_PER_EPOCH) === epoch - 1)
    if (included >= 0) {
      // The head's state has its epoch, and no final one has.
      await devnet.advanceTo(epoch * SLOTS_PER_EPOCH)
      const { estimate } = await look()
      const { exit, exitBand } = estimate(EXITS + included, true)
      fixedAtHead.push({ index: EXITS + included, epoch: exit ?? Number.NaN, band: exitBand, lookedIn: epoch })
    }
    await devnet.advanceTo(epoch * SLOTS_PER_EPOCH + 25)
    if (!LOOKS.includes(epoch)) continue
    const { estimate, headEpoch } = await look()
    for (let index = VALIDATORS; index < VALIDATORS + DEPOSITS; index++) {
      const { active, activeBand } = estimate(index, false)
      activations.push({ index, epoch: active ?? Number.NaN, band: activeBand, lookedIn: headEpoch })
    }
    for (let index = 0; index < EXITS; index++) {
      const { exit, exitBand } = estimate(index, false)
      if (exit !== undefined) exits.push({ index, epoch: exit, band: exitBand, lookedIn: headEpoch })
    }
  }
  const activated = errorsOf(activations, 'activationEpoch')
  const left = errorsOf(exits, 'exitEpoch')
  const asked = left.filter(({ index }) => index >= EXITS)
  process.stdout.write(`${summary('activations', activated)}\n${summary('exits that nobody knew of', asked)}\n`)
  const looks = LOOKS.filter((epoch) => epoch <= LAST_EPOCH).length
  expect(activated.length).toBeGreaterThan(looks * DEPOSITS * 0.9)
  expect(share(activated, ({ error }) => Math.abs(error) <= 2)).toBeGreaterThanOrEqual(0.95)
  expect(share(activated, ({ error, band }) => Math.abs(error) <= band)).toBeGreaterThanOrEqual(0.95)
  expect(asked).toHaveLength(LATER_EXITS.length)
  expect(asked.filter(({ error, band }) => Math.abs(error) > Math.min(2, band))).toEqual([])
  expect(errorsOf(fixedAtHead, 'exitEpoch').map(({ error }) => error)).toEqual(LATER_EXITS.map(() => 0))
  // Those of the others were fixed by the chain: there is no error.
  expect(left.filter(({ index, error, band }) => index < EXITS && (error !== 0 || band > 1))).toEqual([])
})
