import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ReadyAnswer } from '../../schemas/routes/probes.ts'
import { eventually, FREE_DEVNET_PORTS, runCommand, startProgram } from '../e2e/processes.ts'
import { Report } from './report.ts'

/** The life of a validator with mainnet's constants: 13 epochs to its activation, 256 before it may exit, 5 to its exit, 256 until it is paid. */
const LIFE_EPOCHS = 530
const LIFE_SECONDS_MAX = 180
const GIVE_UP_MS = 900_000
/** Each question costs the program that is measured some of its time. */
const ASK_EVERY_MS = 2_000

/** Measures `devnet advance` beside the program that follows: from the command to its end, and until the program has all of it. */
export async function benchAdvance(): Promise<boolean> {
  const report = new Report()
  const directory = mkdtempSync(join(tmpdir(), 'epochline-advance-'))
  const env = { ...FREE_DEVNET_PORTS, EPOCHLINE_DATA: directory }
  const program = await startProgram(['all'], env)
  try {
    const isReady = async (): Promise<true | undefined> => {
      const { status } = (await (await fetch(`${program.url}/ready`)).json()) as ReadyAnswer
      return status === 'ready' ? true : undefined
    }
    await eventually('the history', isReady, GIVE_UP_MS, ASK_EVERY_MS)
    const start = performance.now()
    const seconds = (): number => (performance.now() - start) / 1_000
    const { code, stdout, stderr } = await runCommand(['devnet', 'advance', '--epochs', String(LIFE_EPOCHS)], env)
    if (code !== 0) throw new Error(stderr)
    const took = seconds()
    report.heading(stdout.trim().split('\n').at(-1) ?? '')
    report.limited(`seconds for ${LIFE_EPOCHS} epochs`, took, { digits: 1, unit: 's', max: LIFE_SECONDS_MAX })
    await eventually('all of it in the tables', isReady, GIVE_UP_MS, ASK_EVERY_MS)
    report.info('seconds until all of it is in the tables', seconds(), 1, 's')
    return report.within
  } finally {
    await program.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}
