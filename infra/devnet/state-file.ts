import { existsSync, readFileSync } from 'node:fs'
import { AppError } from '../../schemas/errors.ts'

/**
 * What a JSON file of the devnet's directory holds; undefined without one. Throws AppError `config` for what is no object: an empty file,
 * too, whose chain may be in the event log.
 */
export function readState(path: string): Readonly<Record<string, unknown>> | undefined {
  if (!existsSync(path)) return undefined
  let state: unknown
  try {
    state = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw damaged(path, cause)
  }
  if (typeof state !== 'object' || state === null || Array.isArray(state)) throw damaged(path)
  return state as Readonly<Record<string, unknown>>
}

/** Who makes the chain without what the file said makes another one than the event log has. */
export function damaged(path: string, cause?: unknown): AppError {
  return new AppError(
    'config',
    `${path} is not what the devnet wrote there, as after a full disk or a power cut, and its chain cannot be made without it: put it back from a copy, or begin with an empty data folder. Where this devnet has never made a block, delete the file.`,
    { cause },
  )
}
