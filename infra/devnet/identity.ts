import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../../schemas/errors.ts'

/** What a chain is made from, by name. */
export type Identity = Readonly<Record<string, string | number>>

/** The identity that a file was made with, or undefined when there is none. */
export function readIdentity(path: string): Identity | undefined {
  if (!existsSync(path)) return undefined
  return JSON.parse(readFileSync(path, 'utf8')) as Identity
}

/** Settings that say what a chain is made from. */
const SETTINGS: Readonly<Record<string, string>> = {
  seed: 'DEVNET_SEED',
  secondsPerSlot: 'DEVNET_SLOT_SECONDS',
  metadataUrl: 'DEVNET_METADATA_PORT',
}

/** Writes the identity into a new file; where it differs from what a file holds, AppError `config` says what does. */
export function claimIdentity(path: string, identity: Identity): void {
  const known = readIdentity(path)
  if (known === undefined) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${JSON.stringify(identity, null, 2)}\n`)
    return
  }
  for (const [key, value] of Object.entries(identity)) {
    if (known[key] === value) continue
    const setting = SETTINGS[key] === undefined ? '' : ` by ${SETTINGS[key]}`
    throw new AppError(
      'config',
      `The devnet's directory holds another chain: its ${key} is ${known[key]}, asked for${setting} is ${value}. Use the same, or an empty directory.`,
    )
  }
}
