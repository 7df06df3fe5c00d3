// Child process of the e2e suites: a devnet on the manual clock with a fixed genesis, so every run sees the same chain.

import { openDevnet } from '../../infra/devnet/open.ts'

/** A UTC+8 day boundary comes after 303 slots, the next one 7,200 slots later; the dates are arbitrary but fixed. */
export const GENESIS_TIME_SEC = Date.UTC(2026, 0, 10, 16) / 1000 + 11 - 303 * 12

export type Command = { readonly advanceTo: number }
export type Reply =
  | { readonly kind: 'ready'; readonly beaconUrl: string; readonly executionUrl: string }
  | { readonly kind: 'advanced'; readonly headSlot: number }

const devnet = await openDevnet({
  seed: 'e2e',
  genesisTimeSec: GENESIS_TIME_SEC,
  beaconPort: 0,
  executionPort: 0,
  clock: 'manual',
})
const reply = (message: Reply): void => {
  process.send?.(message)
}
process.on('message', async ({ advanceTo }: Command) => {
  await devnet.advanceTo(advanceTo)
  reply({ kind: 'advanced', headSlot: devnet.headSlot })
})
process.on('disconnect', async () => {
  await devnet[Symbol.asyncDispose]()
  process.exit(0)
})
reply({ kind: 'ready', beaconUrl: devnet.beaconUrl, executionUrl: devnet.executionUrl })
