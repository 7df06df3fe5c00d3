import { expect, test } from 'vitest'
import { runBackfill } from '../../commands/backfill.ts'
import { type GapsOptions, runGaps } from '../../commands/gaps.ts'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import { ofChain, trackValidators } from './follow-synthetic.ts'
import { ForkedNode, makeFork, SLOTS_PER_EPOCH } from './forked-beacon.ts'
import { settingsOfFile } from './setting-of-file.ts'
import { silentLog } from './silent-log.ts'
import { SyntheticChain } from './synthetic-chain.ts'
import { openSyntheticNode } from './synthetic-node.ts'

/** Each run of the command starts a thread that reads. */
const TEST_MS = 60_000
const CHAIN = 'private'
const FINAL_EPOCH = 6
const GONE_BEFORE_EPOCH = 3
const settings = settingsOfFile()
const never = new AbortController().signal

/** An execution node without blocks. */
const openExecution = () =>
  openSyntheticNode(({ body }) => {
    const { id, method } = JSON.parse(body) as { readonly id: number; readonly method: string }
    return { json: { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x7' : null } }
  })

test('repairs what nodes give, says what they refuse and why without their addresses, and counts what is lacking still', {
  timeout: TEST_MS,
}, async () => {
  const node = new ForkedNode(makeFork((FINAL_EPOCH + 1) * SLOTS_PER_EPOCH, 1), FINAL_EPOCH)
  await using server = await node.open()
  await using execution = await openExecution()
  const env = { BEACON_URL: server.url, EXECUTION_URL: execution.url, EPOCHLINE_NETWORK: CHAIN }
  const setting = settings(env)
  {
    await using eventLog = await openEventLog(setting.config, silentLog)
    await using beacon = await openHttpBeaconSource({ urls: [server.url], log: silentLog })
    await trackValidators(eventLog, [1], CHAIN)
    const options = { ...ofChain(CHAIN, eventLog), beacon, execution: new SyntheticChain().execution }
    for (const epoch of [1, 3, 5]) await backfill(options, { fromEpoch: epoch, toEpoch: epoch }, never)
  }
  node.change = (path) => {
    const [, slot] = /\/states\/(\d+)\/validators$/.exec(path) ?? []
    const isGone = slot !== undefined && Number(slot) < GONE_BEFORE_EPOCH * SLOTS_PER_EPOCH
    return isGone ? { status: 404, json: { code: 404, message: `no state at ${server.url}` } } : undefined
  }
  const run = (options: Partial<GapsOptions>) => runGaps(setting, { repair: true, ...options }, 0)
  const lacking = {
    code: 'event_log',
    message: '1 epoch is lacking still: 1 that no node can tell any more.',
  }
  await expect(run({})).rejects.toMatchObject(lacking)
  const printed = setting.printed()
  expect(printed).toMatch(
    /private, epochs 1 to 5, 2 gaps:\n {2}epoch 2 .*: not in the log, told by release 0\.1, or not readable\n {2}epoch 4 /,
  )
  expect(printed).toMatch(/private, epochs 2 to 2 are refused: .*epoch 2, the oldest: .*archive node/)
  expect(printed).toMatch(/private, epochs 4 to 4: 1 ingested /)
  expect(printed).toMatch(/private, epochs 1 to 5, one gap:\n {2}epoch 2 .*\n$/)
  expect(printed).not.toMatch(/127\.0\.0\.1|secret|hidden/)
  await expect(run({})).rejects.toMatchObject(lacking)
  expect(setting.printed()).not.toContain('ingested for')
  node.change = () => undefined
  await run({})
  expect(setting.printed()).toMatch(/the log has all of them for every tracked validator\.\n$/)
})

test('what was interrupted is told as that, and not as a wrong question', { timeout: TEST_MS }, async () => {
  const node = new ForkedNode(makeFork((FINAL_EPOCH + 1) * SLOTS_PER_EPOCH, 1), FINAL_EPOCH)
  await using server = await node.open()
  await using execution = await openExecution()
  const setting = settings({ BEACON_URL: server.url, EXECUTION_URL: execution.url, EPOCHLINE_NETWORK: CHAIN })
  {
    await using eventLog = await openEventLog(setting.config, silentLog)
    await trackValidators(eventLog, [1], CHAIN)
  }
  const interrupted = { code: 'interrupted', message: expect.stringContaining('run it again with the same range') }
  for (const command of [runBackfill, runGaps]) {
    const stop = new AbortController()
    node.change = (path) => {
      if (/\/states\/\d+\//.test(path)) stop.abort()
      return undefined
    }
    const range = { from: 'epoch:1', to: 'epoch:5', plan: false, repair: true }
    await expect(command({ ...setting, signal: stop.signal }, range)).rejects.toMatchObject(interrupted)
  }
})
