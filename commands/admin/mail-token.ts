import { openMail } from '../../infra/open-ports.ts'
import type { Mail } from '../../infra/ports/mail.ts'
import { AppError } from '../../schemas/errors.ts'
import { MAIL_ADDRESS_MAX, MAIL_ADDRESS_PATTERN } from '../../schemas/mail-address.ts'
import type { Setting } from '../setting.ts'

/** Throws AppError `usage` for a text that is no mail address, and where nobody can be written to. */
export async function openMailTo({ config }: Pick<Setting, 'config'>, address: string): Promise<Mail> {
  if (address.length > MAIL_ADDRESS_MAX || !new RegExp(MAIL_ADDRESS_PATTERN).test(address))
    throw new AppError('usage', '--mail-to is not a mail address, e.g. ann@example.org: no token was created.')
  const mail = await openMail(config)
  if (mail !== undefined) return mail
  throw new AppError('usage', 'No mail is configured (mail in epochline.yaml): no token was created.')
}

/** Sends a new token to who is to have it, and prints it where that fails: nobody else knows it. Throws AppError `mail` then. */
export async function mailToken(
  { screen }: Pick<Setting, 'screen'>,
  mail: Mail,
  { to, account, token }: { readonly to: string; readonly account: string; readonly token: string },
): Promise<void> {
  const text = `An access token of the account ${account}, which stands in the path of every request:\n\n${token}\n\nKeep it secret.\n`
  try {
    await mail.send({ to, subject: 'Your access token', text })
  } catch (error) {
    screen.print(`${token}\n`)
    throw error
  }
  screen.print('The token was created and sent.\n')
}
