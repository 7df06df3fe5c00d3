/** The role has two clocks: a devnet that was led into time to come leaves that of the machine behind. */
export interface Clocks {
  /** Unix milliseconds on the chains: by it days, slots and the times of events are told. */
  readonly now: () => number
  /** Unix milliseconds on the machine, in every process: whoever asks for something waits for the answer by it, not by a chain. */
  readonly wallNow: () => number
}

/** Who asks waits for less than half of it. What may be done for longer than that was limited by another clock than `wallNow`. */
const WAITED_MS_MAX = 60_000

/**
 * Whether nobody waits any more for what was asked for: who has been told that nothing was done must be able to rely on it. `notAfterMs`
 * is Unix milliseconds on the asker's machine.
 */
export function isLate({ wallNow }: Pick<Clocks, 'wallNow'>, notAfterMs: number): boolean {
  const waitsMs = notAfterMs - wallNow()
  return waitsMs < 0 || waitsMs > WAITED_MS_MAX
}
