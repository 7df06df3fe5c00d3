import { resolve } from 'node:path'
import { selectChain } from '../../infra/config/select-chain.ts'
import { restoreLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import type { PasswordSource } from '../../infra/ports/key-keeping.ts'
import { AppError } from '../../schemas/errors.ts'
import { checkedAccount } from '../admin/account-facts.ts'
import { parseKeys } from '../admin/public-keys.ts'
import { nowSec, type Setting } from '../setting.ts'
import { askInParts } from './ask-in-parts.ts'
import { askKeys } from './ask-keys.ts'
import { ExportFolder } from './export-folder.ts'
import type { KeyAnswer } from './key-question.ts'

export interface ExportOptions {
  readonly validator: readonly string[]
  readonly to: string
  readonly passwordFile?: string
  readonly again: boolean
}

/** Writes keystores of keys of the vault, and the file with their deposits, into a new folder. */
export async function exportKeys(setting: Setting, options: ExportOptions): Promise<void> {
  const pubkeys = parseKeys(options.validator, 'argument')
  const folder = new ExportFolder(resolve(options.to), Math.floor(nowSec()))
  const file = options.passwordFile === undefined ? folder.writePassword() : resolve(options.passwordFile)
  const take = async (answer: KeyAnswer): Promise<void> => {
    if ('keystore' in answer) folder.writeKeystore(answer.keystore, answer.path)
    else if ('deposit' in answer) folder.addDeposit(answer.deposit)
    else tell(setting, answer)
  }
  try {
    const { again } = options
    const check = (some: string[]) => ({ command: 'keys-export-check', pubkeys: some, again }) as const
    const password = { kind: 'file', file } as const
    const ask = (some: string[]) => ({ command: 'keys-export', pubkeys: some, again, password }) as const
    await askInParts(setting, { pubkeys, check, ask }, take)
  } catch (error) {
    if (folder.keystores === 0) folder.remove()
    throw error
  }
  const { deposits } = folder.finish()
  const withDeposits = deposits === 0 ? '' : ` with deposit_data.json (${deposits} deposits)`
  setting.screen.print(
    `${folder.keystores} keystores are in ${resolve(options.to)}${withDeposits}, their password in ${file}.\n` +
      'Run each key in one validator client only: one that two run is slashed.\n',
  )
}

export interface ImportOptions {
  readonly account: string
  readonly chain?: string
  readonly passwordFile?: string
  readonly passwordEnv?: string
}

/** Takes the keys of a folder's keystores into the vault. */
export async function importKeys(setting: Setting, folder: string, options: ImportOptions): Promise<void> {
  const account = checkedAccount(options.account)
  const chain = selectChain(setting.config, options.chain, 'beacon').names.name
  const password = passwordOf(options)
  const question = { command: 'keys-import', folder: resolve(folder), chain, account, password } as const
  await askKeys(setting, question, async (answer) => tell(setting, answer))
}

/** Copies the vault into a new file. */
export async function backupKeys(setting: Setting, { to }: { readonly to: string }): Promise<void> {
  const question = { command: 'keys-backup', file: resolve(to) } as const
  await askKeys(setting, question, async (answer) => tell(setting, answer))
}

/** Puts a backup in the vault's place, while no program has the vault. */
export async function restoreKeys(
  { config, screen }: Setting,
  file: string,
  { losesKeys }: { readonly losesKeys: boolean },
): Promise<void> {
  const outcome = await restoreLocalKeyVault({ ...config.vault, backup: resolve(file), losesKeys })
  if (outcome.status === 'loses_keys') {
    throw new AppError(
      'usage',
      `The key vault here has ${outcome.keys} keys that the backup lacks; nothing was changed. With --loses-keys it is set aside, and ` +
        'those validators have nobody who can sign for them.',
    )
  }
  const aside = outcome.setAside === undefined ? '' : ` What was there is ${outcome.setAside}.`
  screen.print(
    `The key vault has the ${outcome.keys} keys of the backup.${aside}\n` +
      'Keys that were made after the backup are lost, if no other copy has them: the program names them when it starts, and so does /ready.\n',
  )
}

function passwordOf({ passwordFile, passwordEnv }: ImportOptions): PasswordSource {
  if ((passwordFile === undefined) === (passwordEnv === undefined))
    throw new AppError('usage', 'Say where the password is: --password-file <file>, or --password-env <NAME>.')
  if (passwordFile !== undefined) return { kind: 'file', file: resolve(passwordFile) }
  return { kind: 'environment', variable: passwordEnv ?? '' }
}

function tell({ screen, log }: Setting, answer: KeyAnswer): void {
  if ('warning' in answer) log.warn({}, answer.warning)
  if ('said' in answer) screen.print(`${answer.said}\n`)
}
