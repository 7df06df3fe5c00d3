import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as yieldToServer } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { answerAdvance } from '../../commands/devnet-advance.ts'
import { askControl, serveControl } from '../../infra/control.ts'
import type { Devnet, DevnetOptions } from '../../infra/devnet/open.ts'
import type { Leg } from '../../infra/devnet/time-lapse.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { slotAt } from '../../schemas/eth/time.ts'
import { silentLog } from '../unit/silent-log.ts'
import { GENESIS_TIME_SEC, openShortDevnet, VOLUNTARILY_EXITED } from './short-history.ts'

const EPOCH_SEC = 32 * 12
const TIMEOUT_MS = 120_000
/** In the middle of slot 70. */
const NOW_SEC = GENESIS_TIME_SEC + 70 * 12 + 6

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'devnet-'))
})
afterEach(() => rm(directory, { recursive: true }))

/** Follows a clock that stands still; resolves when it has caught up with it. */
async function openFollowing(options: Partial<DevnetOptions> = {}): Promise<Devnet> {
  const caughtUp = Promise.withResolvers<void>()
  const onProgress: DevnetOptions['onProgress'] = ({ slot, targetSlot }) => {
    if (slot === targetSlot) caughtUp.resolve()
  }
  const devnet = await openShortDevnet({ directory, clock: 'follow', now: () => NOW_SEC, onProgress, ...options })
  await caughtUp.promise
  return devnet
}

function roots(devnet: Devnet): readonly (string | undefined)[] {
  return Array.from({ length: devnet.headSlot + 1 }, (_, slot) => devnet.history.slot(slot)?.block?.root)
}

async function syncing(devnet: Devnet): Promise<unknown> {
  const response = await fetch(`${devnet.beaconUrl}/eth/v1/node/syncing`)
  return ((await response.json()) as { data: unknown }).data
}

test('time-lapse leads the chain and its clock on by whole epochs, and a restart finds both there', {
  timeout: TIMEOUT_MS,
}, async () => {
  const led = await (async () => {
    await using devnet = await openFollowing()
    expect([devnet.headSlot, devnet.aheadSec]).toEqual([70, 0])
    const legs: Leg[] = []
    expect(await devnet.lead({ epochs: 2 }, (leg) => void legs.push(leg))).toEqual({
      fromSlot: 70,
      slot: 134,
      isThere: true,
      epochs: 2,
      isStopped: false,
    })
    expect(legs[0]).toEqual({ fromSlot: 70, slot: 71, targetSlot: 134 })
    expect(legs.at(-1)).toEqual({ fromSlot: 70, slot: 134, targetSlot: 134 })
    expect([devnet.headSlot, devnet.aheadSec]).toEqual([134, 2 * EPOCH_SEC])
    expect(await syncing(devnet)).toMatchObject({ head_slot: '134', sync_distance: '0', is_syncing: false })
    return roots(devnet)
  })()
  await using again = await openFollowing()
  expect([again.headSlot, again.aheadSec]).toEqual([134, 2 * EPOCH_SEC])
  expect(roots(again)).toEqual(led)
})

test('time-lapse begins when the history up to now is there', { timeout: TIMEOUT_MS }, async () => {
  await using devnet = await openShortDevnet({ directory, clock: 'follow', now: () => NOW_SEC })
  expect(devnet.headSlot).toBeLessThan(70)
  expect(await devnet.lead({ epochs: 1 })).toMatchObject({ fromSlot: 70, slot: 102, isThere: true })
})

test('the chain that was led is the one that time would have made', { timeout: TIMEOUT_MS }, async () => {
  await using led = await openFollowing()
  await led.lead({ epochs: 3 })
  await using waited = await openShortDevnet()
  await waited.advanceTo(led.headSlot)
  expect(roots(led)).toEqual(roots(waited))
})

test('time-lapse ends with the slot in which the validator gets its status, and the clock in the epoch of that slot', {
  timeout: TIMEOUT_MS,
}, async () => {
  await using devnet = await openFollowing()
  const pubkey = hexOf(devnet.history.head.registry[VOLUNTARILY_EXITED]?.pubkey ?? new Uint8Array(48))
  const exited = await devnet.lead({ pubkey, status: 'exited_unslashed', epochsMax: 100 })
  expect(exited.isThere).toBe(true)
  const exitEpoch = devnet.history.head.registry[VOLUNTARILY_EXITED]?.exitEpoch ?? 0
  // Its first slot is the one that it is exited in; the clock, in the middle of an epoch as before, is less than an epoch ahead of that.
  expect(devnet.headSlot - exitEpoch * 32).toBeGreaterThanOrEqual(0)
  expect(devnet.headSlot - exitEpoch * 32).toBeLessThan(32)
  expect(devnet.headSlot).toBe(slotAt(devnet.clock, NOW_SEC + devnet.aheadSec))
  expect(devnet.aheadSec % EPOCH_SEC).toBe(0)
  const never = await devnet.lead({ pubkey, status: 'active_slashed', epochsMax: 1 })
  expect(never.isThere).toBe(false)
})

test('a command leads the devnet of a folder, is told how it went, and is refused what cannot be', {
  timeout: TIMEOUT_MS,
}, async () => {
  await using devnet = await openFollowing()
  const clocks: number[] = []
  await using _served = await serveControl(
    directory,
    answerAdvance(devnet, (aheadSec) => clocks.push(aheadSec)),
    silentLog,
  )
  const ask = async (question: object): Promise<string[]> => {
    const lines: string[] = []
    const signal = AbortSignal.timeout(60_000)
    await askControl(
      directory,
      { command: 'devnet advance', ...question },
      { print: (line) => lines.push(line), signal },
    )
    return lines
  }
  expect(await ask({ epochs: 1 })).toEqual([
    expect.stringMatching(/^1 epochs in [\d.]+ s: slot 102, epoch 3, .* on the chain, whose clock goes on from there$/),
  ])
  expect(clocks.at(-1)).toBe(EPOCH_SEC)
  const until = { pubkey: `0x${'ab'.repeat(48)}`, status: 'active_ongoing' }
  await expect(ask({ epochs: 1, until })).rejects.toThrow('The validator is not active_ongoing after 1 epochs')
  await expect(ask({ epochs: 0 })).rejects.toThrow('The devnet is of another release')
  // Some seconds, which the question is not to take.
  const first = devnet.lead({ epochs: 32 })
  await expect(ask({ epochs: 1 })).rejects.toThrow('in time-lapse already')
  await first
})

test('a command is told how many epochs the devnet was led through when it was stopped', {
  timeout: TIMEOUT_MS,
}, async () => {
  const until = { pubkey: `0x${'ab'.repeat(48)}`, status: 'active_ongoing' }
  for (const [question, most] of [
    [{ epochs: 4_000 }, '4000'],
    [{ epochs: 4_000, until }, 'at most 4000'],
  ] as const) {
    const stop = new AbortController()
    await using devnet = await openFollowing({ signal: stop.signal })
    await using _served = await serveControl(
      directory,
      answerAdvance(devnet, () => {}),
      silentLog,
    )
    const begun = devnet.headSlot
    const asked = askControl(
      directory,
      { command: 'devnet advance', ...question },
      { print: () => {}, signal: AbortSignal.timeout(60_000) },
    )
    const outcome = asked.then(String, (error: unknown) => error)
    while (devnet.headSlot < begun + 40) await yieldToServer()
    stop.abort()
    const error = await outcome
    const epochs = Math.floor((devnet.headSlot - begun) / 32)
    expect(epochs).toBeGreaterThan(0)
    expect(error).toMatchObject({
      code: 'node_unreachable', // which a command ends with 1 for
      message: `The devnet was stopped when it had been led through ${epochs} of ${most} epochs: start it, and ask for the rest.`,
    })
  }
})
