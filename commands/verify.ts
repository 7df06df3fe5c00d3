import { openEventLog, openJobQueue, openMigratedWarehouse } from '../infra/open-ports.ts'
import { type Verifying, verifyTables } from '../processors/verify/verify.ts'
import { AppError } from '../schemas/errors.ts'
import { readBook } from './admin/account-facts.ts'
import { refuseChainOutsideLog } from './chain-in-log.ts'
import type { Ports } from './role.ts'
import { askRunning } from './running-program.ts'
import type { Setting } from './setting.ts'

export interface VerifyOptions {
  readonly quiet: boolean
  readonly chain?: string
}

/**
 * Prints the proof of every tracked validator and day, and what the log has and the tables have not. Throws when a figure does not
 * hold, something is missing, or nothing is there of a tracked validator; gaps that were never ingested are told, and are no fault. The program may run meanwhile.
 */
export async function runVerify({ config, log, screen, signal }: Setting, options: VerifyOptions): Promise<void> {
  const print = (line: string): void => screen.print(`${line}\n`)
  if (await askRunning(config, { command: 'verify', ...options }, { print, signal })) return
  await using eventLog = await openEventLog(config, log)
  await using warehouse = await openMigratedWarehouse(config, log)
  await using jobQueue = await openJobQueue(config, log)
  // Processes of servers do not know of each other.
  const mayBeProcessed = config.mode.kind === 'servers'
  const ports = { eventLog, warehouse, jobQueue }
  await verdictOf(ports, { ...options, mayBeProcessed, print: async (line) => print(line), signal })
}

/** Verifies, and throws AppError when something does not hold: what and where was printed. */
export async function verdictOf(
  ports: Ports,
  options: VerifyOptions & Pick<Verifying, 'mayBeProcessed' | 'print' | 'signal'>,
): Promise<void> {
  const { chain, signal } = options
  if (chain !== undefined) await refuseChainOutsideLog(ports.eventLog, chain, 'nothing was verified', signal)
  const undecided = (await readBook(ports.eventLog, signal)).ownership.undecided()
  const notes = undecided
    .filter((one) => chain === undefined || one.chain === chain)
    .map(
      ({ chain: name, pubkey, accounts }) =>
        `${name} validator ${pubkey}: an earlier release paid ${accounts.join(' and ')}, now ${accounts.at(-1)} alone: say whose it is (admin validators move, or track --at 1970-01-01)`,
    )
  const { wrong, withheld, missing, untold, isCatchingUp, nothingProven } = await verifyTables({
    ...ports,
    ...options,
    notes,
  })
  if (isCatchingUp) throw new AppError('warehouse', 'The tables do not have all of the log yet: see the line above.')
  const faults = [
    ...(wrong > 0 ? ['Not every figure holds'] : []),
    ...(withheld > 0 ? ['some validators have days that are in no figure'] : []),
    ...(missing > 0 ? ['the tables lack what the log has'] : []),
    ...(nothingProven && wrong + missing === 0 ? ['nothing was proven'] : []),
    ...(untold > 0 ? ['of some tracked validators nothing was verified'] : []),
  ].join(', and ')
  if (faults === '') return
  throw new AppError('warehouse', `${faults.charAt(0).toUpperCase()}${faults.slice(1)}: see the lines above.`)
}
