import type { AccountParts } from '../../api/account/account.ts'
import { readSealingKey } from '../../infra/key-vault/key-source.ts'
import { openMail } from '../../infra/open-ports.ts'
import { AppError } from '../../schemas/errors.ts'
import { planOf } from '../plan-of.ts'
import type { RolePorts, Running } from '../role.ts'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/

type Ports = Pick<RolePorts, 'eventLog' | 'counters' | 'clientCounters'>

/**
 * What the API makes people's accounts with; undefined where nobody could be written to, and where their key is missing, which is told:
 * nobody else is to wait for it. What is opened is the stack's.
 */
export async function openAccountParts(
  { config, log }: Pick<Running, 'config' | 'log'>,
  { eventLog, counters, clientCounters }: Ports,
  open: AsyncDisposableStack,
): Promise<AccountParts | undefined> {
  if (config.mail === undefined) return undefined
  // As long as nobody has signed up, a missing file may be made.
  const isFirst = (await eventLog.ends('users')).size === 0
  const key = readKey({ config, log }, isFirst)
  const mail = key === undefined ? undefined : await openMail(config)
  if (key === undefined || mail === undefined) return undefined
  open.use(mail)
  const isLoopback = LOOPBACK.test(config.host)
  return { key, mail, counters, clientCounters, isLoopback, planOf: planOf(config) }
}

function readKey({ config, log }: Pick<Running, 'config' | 'log'>, isFirst: boolean): Uint8Array | undefined {
  try {
    return readSealingKey(config.accounts.keySource, isFirst, 'account')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.error({ reason: error.message }, 'people cannot sign up or log in: the key for their accounts is not there')
    return undefined
  }
}
