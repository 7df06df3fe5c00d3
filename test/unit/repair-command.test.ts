import { expect, test } from 'vitest'
import { type RepairOptions, runRepair } from '../../commands/repair.ts'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { eventsIn, ofChain } from './follow-synthetic.ts'
import { ForkedNode, makeFork, SLOTS_PER_EPOCH } from './forked-beacon.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'
import { silentLog } from './silent-log.ts'

const EPOCHS = 4
const FORK_EPOCH = 2
const settings = settingsOfFile()

/** The log of the setting with what is final by the node. */
async function ingest({ config }: TestSetting, url: string): Promise<readonly string[]> {
  await using eventLog = await openEventLog(config, silentLog)
  await using beacon = await openHttpBeaconSource({ urls: [url], log: silentLog })
  const stop = new AbortController()
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= EPOCHS && stop.abort()
  await followEpochs({ ...ofChain('private', eventLog), beacon, startEpoch: 1, pollMs: 5, onProgress }, stop.signal)
  return (await eventsIn(eventLog, 'beacon.epochs'))
    .filter(({ type }) => type === epochBlocks.name)
    .map(({ id }) => id.split(':').at(-1) ?? '')
}

test('repair says what it would take back, does it when it is told to, and has then nothing to do', async () => {
  const slots = (EPOCHS + 1) * SLOTS_PER_EPOCH
  const right = makeFork(slots, 1)
  const node = new ForkedNode(makeFork(slots, 2, right.blocks.slice(0, FORK_EPOCH * SLOTS_PER_EPOCH + 7)), EPOCHS)
  await using server = await node.open()
  const env = { BEACON_URL: server.url, EXECUTION_URL: server.url, EPOCHLINE_NETWORK: 'private' }
  const setting = settings(env)
  const run = (options: Partial<RepairOptions>) => runRepair(setting, { yes: false, ...options })
  expect(await ingest(setting, server.url)).toEqual(['1', '2', '3'])
  const nothing = { code: 'usage', message: expect.stringContaining('there is nothing to repair') }
  await expect(run({})).rejects.toMatchObject(nothing)
  node.fork = right
  setting.printed()
  const unasked = { code: 'usage', message: 'Nothing was changed: run it again with --yes.' }
  await expect(run({})).rejects.toMatchObject(unasked)
  const plan = setting.printed()
  expect(plan).toContain('private, epochs 2 to 3 in the log: 2 are not of the final chain, the first is 2.')
  expect(plan).toMatch(/Figures of the UTC\+8 days from \d{4}-\d\d-\d\d on, and settlements of these epochs/)
  await run({ yes: true })
  expect(setting.printed()).toBe(
    `${plan}private was repaired: start the program, which reads again what was taken back.\n`,
  )
  expect(await ingest(setting, server.url)).toEqual(['1', '2', '3', '2', '3'])
  await expect(run({ yes: true })).rejects.toMatchObject(nothing)
  await expect(run({ fromEpoch: 'two' })).rejects.toMatchObject({ code: 'usage' })
})
