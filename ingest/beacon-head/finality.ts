import type { BeaconSource, FinalizedCheckpoint } from '../../infra/ports/beacon-source.ts'
import { type ChainClock, epochOf, firstSlotOfEpoch, slotAt, slotTimeSec } from '../../schemas/eth/time.ts'
import { Latest } from '../latest.ts'

/** Announced checkpoints come an epoch apart; a quarter of one covers late blocks before the stream counts as silent. */
const SILENT_EPOCHS = 1.25

/**
 * The finalized checkpoint as the node announces it. Where it announces none, it is asked for once an epoch: when the epoch's
 * second slot begins, since the transition into an epoch is what moves finality; every `pollMs` where that is given. `now` is
 * Unix milliseconds.
 */
export function latestFinality(
  beacon: BeaconSource,
  clock: ChainClock,
  { now, pollMs }: { readonly now: () => number; readonly pollMs?: number | undefined },
): Latest<FinalizedCheckpoint> {
  return new Latest({
    ask: () => beacon.finalized(),
    heightOf: ({ epoch }) => epoch,
    freshUntilMs: (since) => (pollMs === undefined ? onceAnEpoch(clock, since) : since.sinceMs + pollMs),
    now,
  })
}

/** Unix milliseconds until which what changes with an epoch need not be asked for. */
export function onceAnEpoch(
  clock: ChainClock,
  { sinceMs, announced }: { readonly sinceMs: number; readonly announced: boolean },
): number {
  const epochMs = clock.slotsPerEpoch * clock.secondsPerSlot * 1_000
  return announced ? sinceMs + SILENT_EPOCHS * epochMs : Math.min(nextLookMs(clock, sinceMs), sinceMs + epochMs)
}

function nextLookMs(clock: ChainClock, sinceMs: number): number {
  const slot = slotAt(clock, sinceMs / 1_000)
  const secondSlot = firstSlotOfEpoch(clock, epochOf(clock, slot - 1) + 1) + 1
  return slotTimeSec(clock, secondSlot) * 1_000
}
