import { constants, existsSync, readdirSync, statSync } from 'node:fs'
import { access, mkdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { AppError } from '../schemas/errors.ts'
import { nearestName } from './config/mistakes.ts'
import { OWNER_ONLY_FOLDER } from './owner-only.ts'

/**
 * Makes the data folder, for its owner alone, with those above it, and sees that it can be written to. Throws AppError `config` that names
 * the setting when it cannot.
 */
export async function prepareDataDirectory(directory: string): Promise<void> {
  try {
    await makeFolder(resolve(directory), OWNER_ONLY_FOLDER)
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    throw new AppError(
      'config',
      `EPOCHLINE_DATA, --data or data in the configuration file, is not a folder that can be written to (${cause.code}): ${JSON.stringify(directory)}; e.g. EPOCHLINE_DATA=./data.`,
      { cause },
    )
  }
}

/**
 * Throws AppError `usage` when there is no event log, naming a folder beside this one that has one and is named alike, and where the
 * folder, or one above it, may not be entered: nobody knows what is in it then.
 */
export function requireEventLog(file: string): void {
  const folder = dirname(file)
  const looked = lookFor(file)
  if (looked === 'there') return
  if (looked === 'denied')
    throw new AppError(
      'usage',
      `Access to ${JSON.stringify(folder)} is denied, so whether it has an event log cannot be seen: run this as the user that the folder belongs to; another folder is named by --data or EPOCHLINE_DATA.`,
    )
  const parent = dirname(resolve(folder))
  const meant = nearestName(basename(folder), foldersWith(basename(file), parent))
  const hint = meant === undefined ? '' : ` Did you mean ${join(dirname(folder), meant)}?`
  throw new AppError(
    'usage',
    `There is no event log in ${JSON.stringify(folder)}: only all and ingest begin one; another folder is named by --data or EPOCHLINE_DATA.${hint}`,
  )
}

function lookFor(file: string): 'there' | 'absent' | 'denied' {
  try {
    statSync(file)
    return 'there'
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    return error.code === 'EACCES' || error.code === 'EPERM' ? 'denied' : 'absent'
  }
}

function foldersWith(file: string, parent: string): readonly string[] {
  try {
    const entries = readdirSync(parent, { withFileTypes: true })
    return entries.map(({ name }) => name).filter((name) => existsSync(join(parent, name, file)))
  } catch {
    return [] // the folder above is not there, or not for us
  }
}

/** One folder at a time: Node's own recursive way never ends where a file system knows the parent and refuses the child. */
async function makeFolder(path: string, mode?: number): Promise<void> {
  if ((await kindOf(path)) === 'folder') return
  if (dirname(path) !== path) await makeFolder(dirname(path))
  try {
    await mkdir(path, mode)
  } catch (error) {
    if ((await kindOf(path)) !== 'folder') throw error // else somebody else has just made it
  }
}

async function kindOf(path: string): Promise<'folder' | 'other'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'other'
  } catch {
    return 'other' // mkdir tells why
  }
}
