import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import { replaceFile } from '../replace-file.ts'
import { metadataUrlOf } from './metadata/documents.ts'
import { defaultScenario } from './scenario.ts'
import { readState } from './state-file.ts'

/** What a chain is made from, by name. */
export type Identity = Readonly<Record<string, string | number>>

/** The identity that a file was made with, or undefined when there is none. Throws AppError `config` for one that is damaged. */
export function readIdentity(path: string): Identity | undefined {
  return readState(path) as Identity | undefined
}

/** Settings that say what a chain is made from. */
const SETTINGS: Readonly<Record<string, string>> = {
  seed: 'DEVNET_SEED',
  secondsPerSlot: 'DEVNET_SLOT_SECONDS',
  metadataUrl: 'DEVNET_METADATA_PORT',
}

/** What the Ethereum of a directory is made from. */
export const DEVNET_IDENTITY_FILE = 'devnet.json'

/** Of what a chain is made from, what is configured. */
interface AskedFor {
  readonly seed: string
  readonly secondsPerSlot: number
  readonly metadataPort?: number | undefined
}

/**
 * Throws AppError `config` where the directory holds a devnet that this release does not make of these settings, as opening it would: for
 * who wants to know before that.
 */
export function refuseOtherDevnet(directory: string, { seed, secondsPerSlot, metadataPort }: AskedFor): void {
  const known = readIdentity(join(directory, DEVNET_IDENTITY_FILE))
  const scenarioVersion = defaultScenario.version
  const askedFor = { seed, scenarioVersion, secondsPerSlot, metadataUrl: metadataUrlOf(metadataPort) }
  if (known !== undefined) refuseOther(known, askedFor)
}

/** Writes the identity into a new file; where it differs from what a file holds, AppError `config` says what does. */
export function claimIdentity(path: string, identity: Identity): void {
  const known = readIdentity(path)
  if (known !== undefined) {
    refuseOther(known, identity)
    return
  }
  mkdirSync(dirname(path), { recursive: true })
  replaceFile(path, `${JSON.stringify(identity, null, 2)}\n`)
}

function refuseOther(known: Identity, askedFor: Identity): void {
  for (const [key, value] of Object.entries(askedFor)) {
    if (known[key] === value) continue
    const setting = SETTINGS[key] === undefined ? '' : ` by ${SETTINGS[key]}`
    throw new AppError(
      'config',
      `The devnet's directory holds another chain: its ${key} is ${known[key]}, asked for${setting} is ${value}. Use the same, or an empty directory.`,
    )
  }
}
