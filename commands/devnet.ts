import { type Answerer, serveControl } from '../infra/control.ts'
import type { DevnetMessage } from '../infra/devnet/child.ts'
import { runDevnet } from '../infra/devnet/run.ts'
import { defaultScenario } from '../infra/devnet/scenario.ts'
import { AppError } from '../schemas/errors.ts'
import { answerAdvance } from './devnet-advance.ts'
import { devnetDirectory } from './devnet-directory.ts'
import { answerReorg, isReorg } from './devnet-reorg.ts'
import type { Setting } from './setting.ts'

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
      metadataPort: devnet.metadataPort,
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
        const [advance, reorg] = [answerAdvance(open, tellClock), answerReorg(open)]
        const answer: Answerer = (question, ...rest) => (isReorg(question) ? reorg : advance)(question, ...rest)
        return serveControl(devnetDirectory(config.dataDirectory), answer, log)
      },
      onReady: ({ beaconUrl, executionUrl, secondExecutionUrl, metadataUrl, keymanagerUrl, genesisTimeSec }) => {
        report({ kind: 'ready', beaconUrl, executionUrl, secondExecutionUrl, keymanagerUrl, genesisTimeSec })
        if (parent !== undefined) return
        screen.print(`Beacon API  ${beaconUrl}\nJSON-RPC    ${executionUrl}\n`)
        if (secondExecutionUrl !== undefined) screen.print(`JSON-RPC 2  ${secondExecutionUrl}\n`)
        if (metadataUrl !== undefined) screen.print(`Documents   ${metadataUrl}\n`)
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
