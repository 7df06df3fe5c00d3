import { text } from 'node:stream/consumers'
import { AccountSecrets } from '../../api/account/secrets.ts'
import { readSealingKey } from '../../infra/key-vault/key-source.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { readUserBook } from '../../processors/users/user-book.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Setting } from '../setting.ts'

/**
 * Prints the name of the account that the mail address on standard input has: nobody can list addresses, but who is told one finds its
 * account. Throws AppError `usage` where it has none.
 */
export async function findAccount(setting: Setting, input: AsyncIterable<Uint8Array> = process.stdin): Promise<void> {
  const { config, log, signal, screen } = setting
  const email = (await text(input)).trim()
  if (email === '')
    throw new AppError('usage', 'No mail address on standard input: write it there, e.g. echo ann@example.org | …')
  await using eventLog = await openEventLog(config, log)
  const book = await readUserBook(eventLog, signal)
  if (book.keyId === undefined) throw new AppError('usage', 'Nobody has signed up here yet.')
  const secrets = new AccountSecrets(readSealingKey(config.accounts.keySource, false, 'account'))
  if (secrets.keyId !== book.keyId)
    throw new AppError('usage', 'The key for accounts is not the one that accounts were made with: put that one back.')
  const account = book.ofAddress(secrets.addressOf(email))?.user?.account
  if (account === undefined) throw new AppError('usage', 'No account has this address, or nobody has verified it.')
  screen.print(`${account}\n`)
}
