import { toSameAddress } from '../../schemas/mail-address.ts'
import { logInRoute, logOutRoute, requestResetRoute, resetRoute } from '../../schemas/routes/account/log-in.ts'
import { accountOperation } from './account.ts'
import { codeNotValid, DONE, emailRefusal, notLoggedIn, wrongPassword } from './answers.ts'
import { LOG_IN_LIMIT, MAIL_LIMIT } from './attempts.ts'
import { openByCode } from './mailed-code.ts'
import { HAS_NONE_MESSAGE, resetMessage } from './messages.ts'
import { digestOf, newSecret } from './secrets.ts'

export const logIn = accountOperation(logInRoute, async ({ body: { email, password } }, accounts) => {
  const refusal = emailRefusal(email)
  if (refusal !== undefined) return refusal
  const address = accounts.secrets.addressOf(email)
  await accounts.count(LOG_IN_LIMIT, address)
  const made = await accounts.passwordOf(email, password)
  const session = newSecret()
  const { status } = await accounts.ask({ kind: 'log-in', address, password: made, session: digestOf(session) })
  return status === 'done' ? { ...DONE, session } : wrongPassword()
})

export const logOut = accountOperation(logOutRoute, async ({ session }, accounts) => {
  const { status } = await accounts.ask({ kind: 'log-out', session })
  return status === 'done' ? { ...DONE, session: '' } : notLoggedIn()
})

/** As with a sign-up, only the mail tells whether there is an account. */
export const requestReset = accountOperation(requestResetRoute, async ({ body: { email } }, accounts) => {
  const refusal = emailRefusal(email)
  if (refusal !== undefined) return refusal
  const address = accounts.secrets.addressOf(email)
  await accounts.count(MAIL_LIMIT, address)
  const code = newSecret()
  const { status } = await accounts.ask({ kind: 'request-reset', address, code: digestOf(code) })
  const message = status === 'has-none' ? HAS_NONE_MESSAGE : resetMessage(code)
  await accounts.send({ to: toSameAddress(email), ...message })
  return DONE
})

export const resetPassword = accountOperation(resetRoute, openByCode('reset', codeNotValid))
