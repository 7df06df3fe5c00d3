import { formatInstant } from '../../schemas/eth/time.ts'
import { closeRoute, meRoute } from '../../schemas/routes/account/me.ts'
import { answer } from '../http/operation.ts'
import { accountOperation } from './account.ts'
import { DONE, emailRefusal, notLoggedIn, wrongPassword } from './answers.ts'
import { LOG_IN_LIMIT } from './attempts.ts'

export const me = accountOperation(meRoute, async ({ session }, accounts) => {
  const found = await accounts.ask({ kind: 'look', session })
  if (found.status !== 'found') return notLoggedIn()
  const { account, sinceSec, keys } = found.user
  const { name, requestsPerDay = null, requestsPerSecond = null } = accounts.planOf(account)
  const plan = { name, requests_per_day: requestsPerDay, requests_per_second: requestsPerSecond }
  return answer({ account, created_at: formatInstant(sinceSec), plan, keys: keys.length })
})

export const closeAccount = accountOperation(closeRoute, async ({ body: { email, password }, session }, accounts) => {
  const refusal = emailRefusal(email)
  if (refusal !== undefined) return refusal
  const address = accounts.secrets.addressOf(email)
  // A password is tried here as well.
  await accounts.count(LOG_IN_LIMIT, address)
  const made = await accounts.passwordOf(email, password)
  const { status } = await accounts.ask({ kind: 'close', session, address, password: made })
  if (status === 'wrong-password') return wrongPassword()
  return status === 'done' ? { ...DONE, session: '' } : notLoggedIn()
})
