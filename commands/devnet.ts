import { join } from 'node:path'
import { serveControl } from '../infra/control.ts'
import { type DevnetMessage, type DevnetProcess, openDevnetProcess } from '../infra/devnet/child.ts'
import { DEMO_VALIDATORS, demoAccountFacts, missingFacts } from '../infra/devnet/demo-account.ts'
import { runDevnet } from '../infra/devnet/run.ts'
import { defaultScenario } from '../infra/devnet/scenario.ts'
import type { EventLog } from '../infra/ports/event-log.ts'
import type { Progress } from '../infra/progress.ts'
import { AppError } from '../schemas/errors.ts'
import { answerAdvance, devnetDirectory } from './devnet-advance.ts'
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

/** `epochline devnet`: the devnet alone, or as the child of `all`, which it then tells about itself. */
export async function runDevnetCommand({ config, log, screen, signal }: Setting): Promise<void> {
  const { devnet } = config
  if (devnet === undefined) {
    throw new AppError(
      'usage',
      'The configuration names real nodes (BEACON_URL, EXECUTION_URL or chains): leave them out to run the devnet.',
    )
  }
  const parent = process.connected ? process : undefined
  const orphaned = new AbortController()
  parent?.on('disconnect', () => orphaned.abort())
  const report = (message: DevnetMessage): void => {
    if (parent?.connected === true) parent.send?.(message)
  }
  const tellClock = (aheadSec: number): void => report({ kind: 'clock', aheadSec })
  using progress = parent === undefined ? screen.openProgress() : undefined
  const running = runDevnet(
    {
      seed: devnet.seed,
      scenario: { ...defaultScenario, secondsPerSlot: devnet.secondsPerSlot },
      beaconPort: devnet.beaconPort,
      executionPort: devnet.executionPort,
      validatorPort: devnet.validatorPort,
      second: devnet.secondPort === undefined ? undefined : { port: devnet.secondPort },
      directory: devnetDirectory(config.dataDirectory),
      onStartAnew: (reason) =>
        log.warn({ reason }, 'what the devnet kept on disk is of no use: it makes its history again'),
      onProgress: ({ slot, targetSlot }) => {
        report({ kind: 'progress', slot, targetSlot })
        progress?.update('devnet', { done: slot, total: targetSlot, note: 'slots' })
      },
      serve: (open) => {
        tellClock(open.aheadSec)
        return serveControl(devnetDirectory(config.dataDirectory), answerAdvance(open, tellClock), log)
      },
      onReady: ({ beaconUrl, executionUrl, secondExecutionUrl, keymanagerUrl, genesisTimeSec }) => {
        report({ kind: 'ready', beaconUrl, executionUrl, secondExecutionUrl, keymanagerUrl, genesisTimeSec })
        if (parent !== undefined) return
        screen.print(`Beacon API  ${beaconUrl}\nJSON-RPC    ${executionUrl}\n`)
        if (secondExecutionUrl !== undefined) screen.print(`JSON-RPC 2  ${secondExecutionUrl}\n`)
        if (keymanagerUrl !== undefined) screen.print(`Keymanager  ${keymanagerUrl}\n`)
      },
    },
    AbortSignal.any([signal, orphaned.signal]),
  )
  try {
    await running
  } catch (error) {
    if (parent === undefined || !(error instanceof AppError)) throw error
    report({ kind: 'failed', code: error.code, message: error.message }) // it is the parent's to say
  } finally {
    // The channel would keep this process alive; what has been told still arrives.
    if (process.connected) process.disconnect?.()
  }
}
