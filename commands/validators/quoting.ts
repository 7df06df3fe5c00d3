import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { type Quoting, quoteForAddress } from '../../processors/validators/quote-stake.ts'
import { quoteUnstakeFor } from '../../processors/validators/quote-unstake.ts'
import { QuotedKeys } from '../../processors/validators/quoted-keys.ts'
import { quoteStake } from '../../schemas/jobs/quote-stake.ts'
import { quoteUnstake } from '../../schemas/jobs/quote-unstake.ts'
import { allOrNone } from '../ingest-role.ts'
import { quoteConfigOf } from '../quote-config.ts'
import { clocksOf } from '../role.ts'
import { answer } from './answering.ts'
import type { Duty } from './duty.ts'

/** Questions of a kind that are worked on at once: most of their time is the nodes'. */
const QUOTED_AT_ONCE = 4

/** Makes the transactions for whoever asks the API for a quote, with validators that it prepares, where quotes are configured. */
export const quoting: Duty = async (custody, signal) => {
  const { ports, running, vault, lease, book, registered, funded, room } = custody
  if (quoteConfigOf(running.config) === undefined) return
  const { log, config } = running
  const keys = new QuotedKeys({ created: book.created, funded, rules: config.validators })
  const parts: Quoting = { vault, writer: lease, book, room, log, keys, ...clocksOf(running) }
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const told = { atOnce: QUOTED_AT_ONCE, failed: 'no quote could be made' }
  const stakes = answer(custody, { ...told, job: quoteStake, make: quoteForAddress.bind(undefined, parts) }, ending)
  const owners = new OwnersOnLog(ports.eventLog, ending)
  const unquoting = { vault, book, owners, registered, funded, log, ...clocksOf(running) }
  const unstakes = answer(
    custody,
    { ...told, job: quoteUnstake, make: quoteUnstakeFor.bind(undefined, unquoting) },
    ending,
  )
  await allOrNone([stakes, unstakes], stop)
}
