import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { type Quoting, quoteForAddress } from '../../processors/validators/quote-stake.ts'
import { quoteUnstakeFor } from '../../processors/validators/quote-unstake.ts'
import { QuotedKeys } from '../../processors/validators/quoted-keys.ts'
import { AppError } from '../../schemas/errors.ts'
import type { AnsweringJob } from '../../schemas/jobs/job.ts'
import { quoteStake } from '../../schemas/jobs/quote-stake.ts'
import { quoteUnstake } from '../../schemas/jobs/quote-unstake.ts'
import { allOrNone } from '../ingest-role.ts'
import { quoteConfigOf } from '../quote-config.ts'
import { clocksOf } from '../role.ts'
import type { Custody, Duty } from './duty.ts'
import type { OpenedChain } from './staking-chains.ts'

/** Questions of a kind that are worked on at once: most of their time is the nodes'. */
const QUOTED_AT_ONCE = 4

/** Makes the transactions for whoever asks the API for a quote, with validators that it prepares, where quotes are configured. */
export const quoting: Duty = async (custody, signal) => {
  const { ports, running, vault, lease, book, funded, room } = custody
  if (quoteConfigOf(running.config) === undefined) return
  const { log, config } = running
  const keys = new QuotedKeys({ created: book.created, funded, rules: config.validators })
  const parts: Quoting = { vault, writer: lease, book, room, log, keys, ...clocksOf(running) }
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const stakes = answer(custody, { job: quoteStake, make: quoteForAddress.bind(undefined, parts) }, ending)
  const owners = new OwnersOnLog(ports.eventLog, ending)
  const unquoting = { vault, book, owners, funded, log, ...clocksOf(running) }
  const unstakes = answer(custody, { job: quoteUnstake, make: quoteUnstakeFor.bind(undefined, unquoting) }, ending)
  await allOrNone([stakes, unstakes], stop)
}

interface Question<Input, Output> {
  readonly job: AnsweringJob<Input, Output>
  readonly make: (chain: OpenedChain, input: Input) => Promise<Output>
}

/** Works on the questions of one kind until the signal aborts. */
async function answer<Input extends { readonly chain: string }, Output>(
  { ports, running: { log }, chains }: Custody,
  { job, make }: Question<Input, Output | { readonly status: 'unavailable' }>,
  signal: AbortSignal,
): Promise<void> {
  await ports.jobQueue.work({
    name: job.name,
    concurrency: QUOTED_AT_ONCE,
    signal,
    async handle(taken) {
      const input = job.parse(taken.input)
      const chain = await chains.of(input.chain)
      if (chain === undefined) return { status: 'unavailable' }
      return await make(chain, input).catch((error: unknown) => {
        if (error instanceof AppError) log.warn({ chain: input.chain, reason: error.message }, 'no quote could be made')
        throw error
      })
    },
  })
}
