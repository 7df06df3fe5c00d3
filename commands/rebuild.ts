import { openEventLog, openMigratedWarehouse } from '../infra/open-ports.ts'
import { fillLease } from '../processors/loop/filled-from.ts'
import { openLogFacts } from '../processors/loop/log-facts.ts'
import { rebuild } from '../processors/loop/rebuild.ts'
import { PROJECTORS } from '../processors/projections.ts'
import { AppError } from '../schemas/errors.ts'
import { FAMILIES, type Family } from '../schemas/tables/projections.ts'
import { refuseChainOutsideLog } from './chain-in-log.ts'
import { nowSec, type Setting } from './setting.ts'

/** Builds tables beside the live ones from the log and puts them in their place: all, or those of a chain or a family. */
export async function runRebuild(
  { config, log, screen, signal }: Setting,
  options: { readonly chain?: string; readonly family?: string },
): Promise<void> {
  const family = checkedFamily(options.family)
  const { chain } = options
  await using eventLog = await openEventLog(config, log)
  if (chain !== undefined) await refuseChainOutsideLog(eventLog, chain, 'nothing was rebuilt', signal)
  await using warehouse = await openMigratedWarehouse(config, log)
  // Two rebuilds would build in one place; a process that begins to fill must not write where tables are being replaced.
  await using alone = await eventLog.lease(fillLease(warehouse), signal)
  const facts = await openLogFacts(eventLog, nowSec(), signal)
  using progress = screen.openProgress()
  const isDone = await rebuild(
    {
      eventLog,
      warehouse,
      log,
      facts,
      projectors: PROJECTORS,
      scope: { chain, family },
      now: Date.now,
      onProgress: ({ topic, done, total }) => progress.update(topic, { done, total, note: 'events' }),
    },
    AbortSignal.any([signal, alone.lost]),
  )
  if (!isDone) throw new AppError('interrupted', 'The rebuild was interrupted: the tables are as they were.')
  const what = [
    family === undefined ? 'The tables' : `The tables of ${family}`,
    ...(chain === undefined ? [] : [`of ${chain}`]),
  ]
  screen.print(`${what.join(' ')} are built anew out of the log, and in their place.\n`)
}

function checkedFamily(text: string | undefined): Family | undefined {
  const names = Object.keys(FAMILIES) as Family[]
  const found = names.find((name) => name === text)
  if (text === undefined || found !== undefined) return found
  throw new AppError('usage', `--family is not one of ${names.join(', ')}: ${JSON.stringify(text)}.`)
}
