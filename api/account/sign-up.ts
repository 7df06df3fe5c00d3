import { toSameAddress } from '../../schemas/mail-address.ts'
import { signUpRoute, verifyRoute } from '../../schemas/routes/account/sign-up.ts'
import { accountOperation } from './account.ts'
import { codeOrPasswordNotValid, DONE, emailRefusal } from './answers.ts'
import { MAIL_LIMIT } from './attempts.ts'
import { openByCode } from './mailed-code.ts'
import { HAS_ACCOUNT_MESSAGE, verifyMessage } from './messages.ts'
import { digestOf, newAccountName, newSecret } from './secrets.ts'

/** Does the same, and says the same, whether the address has an account or not. */
export const signUp = accountOperation(signUpRoute, async ({ body: { email, password } }, accounts) => {
  const refusal = emailRefusal(email)
  if (refusal !== undefined) return refusal
  const address = accounts.secrets.addressOf(email)
  await accounts.count(MAIL_LIMIT, address)
  const made = await accounts.passwordOf(email, password)
  const code = newSecret()
  const ask = { kind: 'sign-up', address, account: newAccountName(), password: made, code: digestOf(code) } as const
  const { status } = await accounts.ask(ask)
  const message = status === 'has-account' ? HAS_ACCOUNT_MESSAGE : verifyMessage(code)
  await accounts.send({ to: toSameAddress(email), ...message })
  return DONE
})

export const verifyEmail = accountOperation(verifyRoute, openByCode('verify', codeOrPasswordNotValid))
