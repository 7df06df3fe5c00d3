import type { MailMessage } from '../../infra/ports/mail.ts'

type Message = Omit<MailMessage, 'to'>

const IGNORE = 'If this was not you, nothing has to be done: without the code nothing happens.\n'

export function verifyMessage(code: string): Message {
  return {
    subject: 'Verify your address',
    text:
      'Somebody signed up with this address. The code that opens the account, within 24 hours and with the password that was given then:' +
      `\n\n${code}\n\n${IGNORE}`,
  }
}

export const HAS_ACCOUNT_MESSAGE: Message = {
  subject: 'You have an account already',
  text:
    'Somebody signed up with this address, which has an account already: nothing has changed. Log in with its password, or ask for ' +
    'a new one.\n\nIf this was not you, nothing has to be done.\n',
}

export function resetMessage(code: string): Message {
  return {
    subject: 'Your new password',
    text: `Somebody asked for a new password for this address. The code that sets it, within an hour:\n\n${code}\n\n${IGNORE}`,
  }
}

export const HAS_NONE_MESSAGE: Message = {
  subject: 'There is no account with this address',
  text: 'Somebody asked for a new password for this address, which has no account here.\n\nIf this was not you, nothing has to be done.\n',
}
