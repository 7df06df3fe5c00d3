import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { type Answerer, askControl } from '../infra/control.ts'
import type { Devnet } from '../infra/devnet/open.ts'
import type { Leg } from '../infra/devnet/time-lapse.ts'
import { AppError } from '../schemas/errors.ts'
import { epochOf, formatInstant, slotTimeSec } from '../schemas/eth/time.ts'
import { devnetDirectory } from './devnet-directory.ts'
import type { Setting } from './setting.ts'

/** Some ten months at mainnet's pace, many hours of this machine. */
const EPOCHS_MAX = 65_536
/** Without a number, until a validator is there: more than its life takes where nothing is queued. */
const EPOCHS_UNTIL = 2_048
const TOLD_EVERY_MS = 5_000

const STATUSES = [
  ...['pending_initialized', 'pending_queued', 'active_ongoing', 'active_exiting', 'active_slashed'],
  ...['exited_unslashed', 'exited_slashed', 'withdrawal_possible', 'withdrawal_done'],
]

const Question = Type.Object({
  command: Type.Literal('devnet advance'),
  epochs: Type.Integer({ minimum: 1, maximum: EPOCHS_MAX }),
  until: Type.Optional(
    Type.Object({ pubkey: Type.String({ pattern: '^0x[0-9a-f]{96}$' }), status: Type.Enum([...STATUSES]) }),
  ),
})
const isQuestion = Compile(Question)

export interface AdvanceOptions {
  /** Decimal text. */
  readonly epochs?: string
  readonly validator?: string
  readonly until?: string
}

/** `epochline devnet advance`: leads the running devnet through time-lapse. */
export async function advanceDevnet({ config, screen, signal }: Setting, options: AdvanceOptions): Promise<void> {
  const question = questionOf(options)
  const { epochs } = question
  let told = 0
  const print = (line: string): void => {
    told = epochsOfLeg(line, epochs) ?? told
    screen.print(`${line}\n`)
  }
  const cut = () => stopped(`at least ${told} of ${most(epochs, question.until)}`)
  if (await askControl(devnetDirectory(config.dataDirectory), question, { print, signal, cut })) return
  throw new AppError(
    'usage',
    'No devnet runs in this data folder: start one with `npm start` or `npm run devnet`, or name its folder.',
  )
}

function questionOf({ epochs, validator, until }: AdvanceOptions): Type.Static<typeof Question> {
  if (validator === undefined && (until !== undefined || epochs === undefined)) {
    throw new AppError(
      'usage',
      'Name the number of --epochs, or a --validator and the status that it is to have --until then.',
    )
  }
  const question = {
    command: 'devnet advance' as const,
    epochs: epochs === undefined ? EPOCHS_UNTIL : Number(epochs),
    ...(validator === undefined
      ? {}
      : { until: { pubkey: validator.toLowerCase(), status: until ?? 'withdrawal_done' } }),
  }
  if (isQuestion.Check(question)) return question
  throw new AppError(
    'usage',
    `--epochs is 1 to ${EPOCHS_MAX}, --validator a public key (0x and 96 hex digits), --until one of ${STATUSES.join(', ')}.`,
  )
}

/** Nobody asked for it in a wrong way: it ends as a failure does. */
function stopped(epochs: string): AppError {
  return new AppError(
    'node_unreachable',
    `The devnet was stopped when it had been led through ${epochs} epochs: start it, and ask for the rest.`,
    { retryable: true },
  )
}

function most(epochs: number, until: object | undefined): string {
  return until === undefined ? String(epochs) : `at most ${epochs}`
}

/** Answers what `advanceDevnet` asks; `onClock` hears how far the chain's clock is ahead, while it moves. */
export function answerAdvance(devnet: Devnet, onClock: (aheadSec: number) => void): Answerer {
  return async (question, print) => {
    if (!isQuestion.Check(question)) throw new AppError('usage', 'The devnet is of another release: stop it first.')
    const { epochs, until } = question
    const to =
      until === undefined
        ? { epochs }
        : { pubkey: until.pubkey as `0x${string}`, status: until.status, epochsMax: epochs }
    const begun = performance.now()
    let told = { atMs: begun, slot: devnet.headSlot }
    const journey = await devnet.lead(to, (leg) => {
      const { slot } = leg
      const nowMs = performance.now()
      if (nowMs - told.atMs < TOLD_EVERY_MS) return
      const slotsPerSecond = ((slot - told.slot) * 1_000) / (nowMs - told.atMs)
      told = { atMs: nowMs, slot }
      onClock(devnet.aheadSec)
      // Who has asked may be gone: the devnet goes on.
      print(formatLeg(leg, { slotsPerSecond, mayEndBefore: until !== undefined })).catch(() => undefined)
    })
    onClock(devnet.aheadSec)
    if (journey.isStopped) throw stopped(`${journey.epochs} of ${most(epochs, until)}`)
    const { clock } = devnet
    const passed = epochOf(clock, journey.slot) - epochOf(clock, journey.fromSlot)
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
    if (!journey.isThere) {
      throw new AppError(
        'usage',
        `The validator is not ${until?.status} after ${passed} epochs (${seconds} s): ask again to go on.`,
      )
    }
    await print(
      `${passed} epochs in ${seconds} s: slot ${journey.slot}, epoch ${epochOf(clock, journey.slot)}, ` +
        `${formatInstant(slotTimeSec(clock, journey.slot))} on the chain, whose clock goes on from there`,
    )
  }
}

const LEG = /^devnet: (\d+) (?:of|slots, at most) (\d+)/

/** Whole epochs that a line of `formatLeg` tells of, of all that were asked for; undefined for other lines. */
export function epochsOfLeg(line: string, epochs: number): number | undefined {
  const [, done, all] = LEG.exec(line) ?? []
  return done === undefined || all === undefined ? undefined : Math.floor((Number(done) / Number(all)) * epochs)
}

/**
 * One line for people, of the slots since it was asked for: "devnet: 230 of 1600 slots (14 %), slot 13830, 210 slots/s, 7 s left". Where it ends when
 * something has happened, nobody knows how much of it is left: "devnet: 230 slots, at most 65536, slot 13830, 210 slots/s".
 */
export function formatLeg(
  { fromSlot, slot, targetSlot }: Leg,
  { slotsPerSecond, mayEndBefore }: { readonly slotsPerSecond: number; readonly mayEndBefore: boolean },
): string {
  const [done, most] = [slot - fromSlot, targetSlot - fromSlot]
  const pace = `slot ${slot}, ${Math.round(slotsPerSecond)} slots/s`
  if (mayEndBefore) return `devnet: ${done} slots, at most ${most}, ${pace}`
  const left = slotsPerSecond > 0 ? `, ${Math.ceil((most - done) / slotsPerSecond)} s left` : ''
  return `devnet: ${done} of ${most} slots (${Math.floor((done / Math.max(1, most)) * 100)} %), ${pace}${left}`
}
