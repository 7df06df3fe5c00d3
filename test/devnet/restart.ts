import { type Devnet, type DevnetOptions, openDevnet } from '../../infra/devnet/open.ts'
import { GENESIS_TIME_SEC, shortScenario } from './short-history.ts'

/** An epoch. */
export const CHECKPOINT_SLOTS = 32

/** A devnet with a real execution side, a manual clock, free ports and many checkpoints. */
export function openRestartDevnet(options: Partial<DevnetOptions> = {}): Promise<Devnet> {
  return openDevnet({
    seed: 'restart',
    genesisTimeSec: GENESIS_TIME_SEC,
    validators: 128,
    clock: 'manual',
    beaconPort: 0,
    executionPort: 0,
    scenario: shortScenario,
    checkpointSlots: CHECKPOINT_SLOTS,
    ...options,
  })
}

/** As a process: makes slots in the folder up to a slot, and tells its parent each of them. */
if (process.argv[1] === import.meta.filename) {
  const [directory = '', slots] = process.argv.slice(2)
  const devnet = await openRestartDevnet({ directory })
  while (devnet.headSlot < Number(slots)) {
    await devnet.advanceTo(devnet.headSlot + 1)
    process.send?.(devnet.headSlot)
  }
}
