import { expect, test } from 'vitest'
import { type RepairOptions, runRepair } from '../../commands/repair.ts'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { ACCOUNTS_KEY, settlementsLocked } from '../../schemas/events/accounts.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { eventsIn, ofChain } from './follow-synthetic.ts'
import { ForkedNode, makeFork, SLOTS_PER_EPOCH } from './forked-beacon.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'
import { silentLog } from './silent-log.ts'

/** Each run of the command starts a thread that reads. */
const TEST_MS = 60_000
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

async function lock({ config }: TestSetting, through: string): Promise<void> {
  await using eventLog = await openEventLog(config, silentLog)
  const fact = { id: 'lock', key: ACCOUNTS_KEY, time: '1970-01-03T00:00:00.000Z' }
  await eventLog.append('accounts', [
    encodeEvent(settlementsLocked, { ...fact, data: { account: 'acme', through, lockId: '' } }),
  ])
}

test('repair says what it would take back, does it when it is told to, and has then nothing to do', {
  timeout: TEST_MS,
}, async () => {
  const slots = (EPOCHS + 1) * SLOTS_PER_EPOCH
  const right = makeFork(slots, 1)
  const node = new ForkedNode(makeFork(slots, 2, right.blocks.slice(0, FORK_EPOCH * SLOTS_PER_EPOCH + 7)), EPOCHS)
  await using server = await node.open()
  const env = { BEACON_URL: server.url, EXECUTION_URL: server.url, EPOCHLINE_NETWORK: 'private' }
  const setting = settings(env)
  const run = (options: Partial<RepairOptions>) => runRepair(setting, { yes: false, evenLocked: false, ...options })
  expect(await ingest(setting, server.url)).toEqual(['1', '2', '3'])
  const nothing = { code: 'usage', message: expect.stringContaining('there is nothing to repair') }
  await expect(run({})).rejects.toMatchObject(nothing)
  node.fork = right
  setting.printed()
  const unasked = { code: 'usage', message: 'Nothing was changed: run it again with --yes.' }
  await expect(run({})).rejects.toMatchObject(unasked)
  const plan = setting.printed()
  expect(plan).toContain('private, epochs 2 to 3 in the log: 2 are not of the final chain, the first is 2.')
  expect(plan).toMatch(/Figures of the UTC\+8 days from \d{4}-\d\d-\d\d on, and settlements of those days/)
  await lock(setting, '1970-01-02')
  const locked = { code: 'usage', message: expect.stringContaining('of acme are locked through 1970-01-02') }
  await expect(run({ yes: true })).rejects.toMatchObject(locked)
  setting.printed()
  await run({ yes: true, evenLocked: true })
  expect(setting.printed()).toBe(
    `${plan}private was repaired: start the program, which reads again what was taken back.\n`,
  )
  expect(await ingest(setting, server.url)).toEqual(['1', '2', '3', '2', '3'])
  await expect(run({ yes: true })).rejects.toMatchObject(nothing)
  await expect(run({ fromEpoch: 'two' })).rejects.toMatchObject({ code: 'usage' })
})
