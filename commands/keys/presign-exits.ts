import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { selectChain } from '../../infra/config/select-chain.ts'
import { AppError } from '../../schemas/errors.ts'
import { parseRecipientKey, type RecipientKey, thumbprintOf } from '../../schemas/recipient-key.ts'
import { checkedAccount } from '../admin/account-facts.ts'
import { parseKeys } from '../admin/public-keys.ts'
import { nowSec, type Setting } from '../setting.ts'
import { askInParts } from './ask-in-parts.ts'
import { ExportFolder } from './export-folder.ts'
import type { KeyAnswer } from './key-question.ts'

/** A public key has some hundred bytes. */
const RECIPIENT_CHARACTERS_MAX = 10_000

export interface PresignOptions {
  readonly validator: readonly string[]
  readonly account: string
  readonly recipient: string
  readonly to: string
  readonly chain?: string
}

/** Writes signed exits into a new folder, encrypted to somebody's public key: one file for each validator. */
export async function writePresignedExits(setting: Setting, options: PresignOptions): Promise<void> {
  const { config, screen } = setting
  const pubkeys = parseKeys(options.validator, 'argument')
  const account = checkedAccount(options.account)
  const chain = selectChain(config, options.chain, 'beacon').names.name
  const recipient = readRecipient(resolve(options.recipient))
  const folder = new ExportFolder(resolve(options.to), Math.floor(nowSec()))
  let written = 0
  const take = async (answer: KeyAnswer): Promise<void> => {
    if (!('jwe' in answer)) return
    folder.writeExit(answer.jwe, answer.pubkey)
    written++
    screen.print(`${answer.pubkey}  validator ${answer.validatorIndex}, may exit from epoch ${answer.epoch} on\n`)
  }
  try {
    const check = (some: string[]) => ({ command: 'keys-presign-check', pubkeys: some, account, chain }) as const
    const ask = (some: string[]) => ({ command: 'keys-presign', pubkeys: some, account, chain, recipient }) as const
    await askInParts(setting, { pubkeys, check, ask }, take)
  } catch (error) {
    if (written === 0) folder.remove()
    throw error
  }
  folder.finish()
  screen.print(
    `${written} signed exits of ${account} are in ${resolve(options.to)}, encrypted to the key ${thumbprintOf(recipient)}.\n` +
      'Whoever has the private key may let these validators exit from then on, at any time: a signed exit never expires.\n',
  )
}

/** Throws AppError `usage` for a file that has no public key of P-256. */
function readRecipient(file: string): RecipientKey {
  const parsed = parseRecipientKey(readText(file))
  if (parsed.status === 'parsed') return parsed.key
  throw new AppError(
    'usage',
    `The file ${file} is not a recipient's key: ${parsed.reason}; nothing was signed. It has to be a public key of P-256, as a JWK or as PEM.`,
  )
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(0, RECIPIENT_CHARACTERS_MAX)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    throw new AppError('usage', `The file ${file} cannot be read (${cause.code}); nothing was signed.`, { cause })
  }
}
