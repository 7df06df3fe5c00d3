// Child process of the e2e suites: a devnet on the manual clock with a fixed genesis, so every run sees the same chain.

import { mainnetChainConfig } from '@lodestar/config/configs'
import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { openDevnet } from '../../infra/devnet/open.ts'
import { defaultScenario, type Scenario, SECONDS_PER_SLOT_DEFAULT } from '../../infra/devnet/scenario.ts'
import { E2E_SEED } from './planned-payments.ts'

/** A UTC+8 day boundary comes after 303 slots, the next one 1,800 slots later; the dates are arbitrary but fixed. */
const GENESIS_TIME_SEC = Date.UTC(2026, 0, 10, 16) / 1000 + 11 - 303 * SECONDS_PER_SLOT_DEFAULT

/** `id` comes back with the answer: the chains may be told to go on side by side. */
export type Command = { readonly id: number } & (
  | { readonly kind: 'advanceTo'; readonly slot: number }
  | { readonly kind: 'advanceSecondTo'; readonly number: number }
  | { readonly kind: 'orphanSecond'; readonly depth: number }
)
export type Reply =
  | {
      readonly kind: 'ready'
      readonly beaconUrl: string
      readonly executionUrl: string
      readonly secondExecutionUrl: string
      /** The Keymanager API of its validator client, and what opens it. */
      readonly keymanager: { readonly url: string; readonly token: string }
    }
  | { readonly kind: 'advanced'; readonly id: number }

/** Of a validator's life, mainnet's unless given; and what else a suite's chains have. */
export interface Periods {
  readonly shardCommitteePeriodEpochs?: number
  readonly withdrawabilityDelayEpochs?: number
  /** Of the Ethereum: one that the default history does not have. */
  readonly deepReorg?: { readonly slot: number; readonly depth: number }
  /** Where documents of tokens are served, as the tokens say; nobody serves them unless given. */
  readonly metadataPort?: number
}

/** The default history; where validators may leave earlier, the one that leaves of its own will does so earlier by as much. */
function scenarioOf({ deepReorg, metadataPort: _, ...periods }: Periods): Scenario {
  const { SHARD_COMMITTEE_PERIOD: periodOfMainnet } = mainnetChainConfig
  const { shardCommitteePeriodEpochs: period = periodOfMainnet } = periods
  const earlierSlots = (periodOfMainnet - period) * SLOTS_PER_EPOCH
  const incidents = defaultScenario.incidents.map((incident) =>
    incident.kind === 'voluntary_exit' ? { ...incident, slot: incident.slot - earlierSlots } : incident,
  )
  const added = deepReorg === undefined ? [] : [{ kind: 'reorg' as const, ...deepReorg }]
  return { ...defaultScenario, ...periods, incidents: [...added, ...incidents] }
}

const periods = JSON.parse(process.argv[2] ?? '{}') as Periods
const devnet = await openDevnet({
  seed: E2E_SEED,
  scenario: scenarioOf(periods),
  genesisTimeSec: GENESIS_TIME_SEC,
  beaconPort: 0,
  executionPort: 0,
  validatorPort: 0,
  metadataPort: periods.metadataPort,
  second: { port: 0, genesisTimeSec: GENESIS_TIME_SEC },
  clock: 'manual',
})
const reply = (message: Reply): void => {
  process.send?.(message)
}
process.on('message', async (command: Command) => {
  if (command.kind === 'advanceTo') await devnet.advanceTo(command.slot)
  else if (command.kind === 'advanceSecondTo') await devnet.advanceSecondTo(command.number)
  else devnet.orphanSecond(command.depth)
  reply({ kind: 'advanced', id: command.id })
})
process.on('disconnect', async () => {
  await devnet[Symbol.asyncDispose]()
  process.exit(0)
})
const { beaconUrl, executionUrl, secondUrl: secondExecutionUrl, validatorClient: keymanager } = devnet
if (secondExecutionUrl === undefined) throw new Error('this devnet was opened with a second chain')
if (keymanager === undefined) throw new Error('this devnet was opened with a validator client')
reply({ kind: 'ready', beaconUrl, executionUrl, secondExecutionUrl, keymanager })
