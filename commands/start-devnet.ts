import { join } from 'node:path'
import { type DevnetProcess, openDevnetProcess } from '../infra/devnet/child.ts'
import { DEMO_VALIDATORS, demoAccountFacts, missingFacts } from '../infra/devnet/demo-account.ts'
import type { EventLog } from '../infra/ports/event-log.ts'
import type { Progress } from '../infra/progress.ts'
import type { Setting } from './setting.ts'

const READ_TIMEOUT_MS = 60_000

/** Starts the devnet as a child and gives its account to the log, once. */
export async function startDevnet(
  eventLog: EventLog,
  { config, log, screen }: Pick<Setting, 'config' | 'log' | 'screen'>,
  progress: Progress,
): Promise<DevnetProcess> {
  let isReady = false
  const devnet = await openDevnetProcess({
    mainFile: join(import.meta.dirname, '../main.ts'),
    env: {
      EPOCHLINE_DATA: config.dataDirectory,
      ...(config.file.isThere ? { EPOCHLINE_CONFIG: config.file.path } : {}),
    },
    onProgress: (slot, targetSlot) => {
      progress.update('devnet', { done: slot, total: targetSlot, note: 'slots' })
      if (isReady || slot < targetSlot) return
      isReady = true
      log.info({ slot }, `the devnet is ready: it has its history of ${slot} slots, and goes on in real time`)
    },
    onLogLine: screen.log.write,
  })
  try {
    const chain = config.chains.find(({ source }) => source.kind === 'devnet' && source.layer === 'ethereum')
    if (chain === undefined) throw new Error('the devnet has an Ethereum')
    const facts = demoAccountFacts(chain.names.name, devnet.genesisTimeSec, DEMO_VALIDATORS)
    const known = new Set<string>()
    const signal = AbortSignal.timeout(READ_TIMEOUT_MS)
    for await (const { event } of eventLog.read({ topic: 'accounts', signal })) known.add(event.id)
    const missing = missingFacts(facts, known)
    if (missing.length > 0) await eventLog.append('accounts', missing)
    return devnet
  } catch (error) {
    await devnet[Symbol.asyncDispose]()
    throw error
  }
}
