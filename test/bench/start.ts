import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEMO_TOKEN } from '../../infra/devnet/demo-account.ts'
import { dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import { eventually, FREE_DEVNET_PORTS, startProgram } from '../e2e/processes.ts'
import { Report } from './report.ts'

const FIRST_DAY_SECONDS_MAX = 45
const SECOND_DAY_SECONDS_MAX = 80
const GIVE_UP_MS = 600_000
/** Each question costs the program that is measured some of its time. */
const ASK_EVERY_MS = 2_000

/** Measures what a newcomer waits for: `npm start` on an empty folder until the API serves one complete day, and two. */
export async function benchStart(): Promise<boolean> {
  const report = new Report()
  const directory = mkdtempSync(join(tmpdir(), 'epochline-start-'))
  const start = performance.now()
  const seconds = (): number => (performance.now() - start) / 1_000
  const env = { ...FREE_DEVNET_PORTS, EPOCHLINE_DATA: directory }
  const program = await startProgram(['all'], env, { makesTables: true })
  try {
    const today = dayOfInstant(Date.now() / 1_000)
    const query = `start_date=${formatDay(today - 3)}&end_date=${formatDay(today)}`
    const url = `${program.url}/ethereum/mainnet/${DEMO_TOKEN}/api/v1/validator/daily-rewards?${query}`
    const days = async (count: number): Promise<true | undefined> => {
      const answer = (await (await fetch(url)).json()) as { data?: { reward?: readonly unknown[] } | null }
      return (answer.data?.reward?.length ?? 0) >= count ? true : undefined
    }
    report.heading('the program on an empty folder, with its devnet')
    report.info('seconds until it listens', seconds(), 1, 's')
    await eventually('the first day', () => days(1), GIVE_UP_MS, ASK_EVERY_MS)
    report.limited('seconds until one day is served', seconds(), { digits: 1, unit: 's', max: FIRST_DAY_SECONDS_MAX })
    await eventually('the second day', () => days(2), GIVE_UP_MS, ASK_EVERY_MS)
    report.limited('seconds until two days are served', seconds(), {
      digits: 1,
      unit: 's',
      max: SECOND_DAY_SECONDS_MAX,
    })
    return report.within
  } finally {
    await program.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}
