import type { Refusal } from '../../schemas/routes/envelope.ts'
import type { Accounts, Answered } from './account.ts'
import { DONE, emailRefusal } from './answers.ts'
import { digestOf } from './secrets.ts'

interface WithCode {
  readonly body: { readonly email: string; readonly code: string; readonly password: string }
}

/** The handler of what the code in a mail opens, for the address that it was sent to and with a password. */
export function openByCode(kind: 'verify' | 'reset', notValid: () => Refusal) {
  return async (
    { body: { email, code, password } }: WithCode,
    accounts: Accounts,
  ): Promise<Answered<(typeof DONE)['envelope']> | Refusal> => {
    const refusal = emailRefusal(email)
    if (refusal !== undefined) return refusal
    const made = await accounts.passwordOf(email, password)
    const address = accounts.secrets.addressOf(email)
    const { status } = await accounts.ask({ kind, code: digestOf(code), address, password: made })
    return status === 'done' ? DONE : notValid()
  }
}
