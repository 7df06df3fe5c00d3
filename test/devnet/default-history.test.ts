import { specValuesToJson } from '@lodestar/config'
import { mainnetChainConfig } from '@lodestar/config/configs'
import { activePreset, SLOTS_PER_EPOCH } from '@lodestar/params'
import { expect, test } from 'vitest'
import { defaultScenario } from '../../infra/devnet/scenario.ts'
import { openShortDevnet } from './short-history.ts'

/** What names the network, its forks and its contract, when it begins, and the pace of its slots. */
const OWN =
  /^(CONFIG_NAME|.*_FORK_(VERSION|EPOCH)|DEPOSIT_.*|TERMINAL_TOTAL_DIFFICULTY|MIN_GENESIS_.*|GENESIS_DELAY|BLOB_SCHEDULE|SECONDS_PER_SLOT|SLOT_DURATION_MS)$/

test("has mainnet's constants, but for its names, forks, contract, beginning and pace", async () => {
  await using devnet = await openShortDevnet({ scenario: defaultScenario })
  const response = await fetch(`${devnet.beaconUrl}/eth/v1/config/spec`)
  const { data } = (await response.json()) as { readonly data: Readonly<Record<string, unknown>> }
  const mainnet = specValuesToJson({ ...activePreset, ...mainnetChainConfig } as never) as Readonly<
    Record<string, unknown>
  >
  const shared = Object.keys(mainnet).filter((name) => !OWN.test(name))
  expect(shared).toEqual(expect.arrayContaining(['SHARD_COMMITTEE_PERIOD', 'MIN_VALIDATOR_WITHDRAWABILITY_DELAY']))
  for (const name of shared) expect(data[name], name).toEqual(mainnet[name])
})

test('nobody leaves of its own will before it may', () => {
  const leaving = defaultScenario.incidents.flatMap((one) => (one.kind === 'voluntary_exit' ? [one.slot] : []))
  expect(leaving.length).toBeGreaterThan(0)
  for (const slot of leaving)
    expect(slot).toBeGreaterThanOrEqual(mainnetChainConfig.SHARD_COMMITTEE_PERIOD * SLOTS_PER_EPOCH)
})
