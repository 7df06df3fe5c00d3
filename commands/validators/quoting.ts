import { type Quoting, quoteForAddress } from '../../processors/validators/quote-stake.ts'
import { QuotedKeys } from '../../processors/validators/quoted-keys.ts'
import { AppError } from '../../schemas/errors.ts'
import { quoteStake } from '../../schemas/jobs/quote-stake.ts'
import { quoteConfigOf } from '../quote-config.ts'
import type { Duty } from './duty.ts'

/** Questions that are worked on at once: most of their time is the nodes'. */
const QUOTED_AT_ONCE = 4

/** Prepares validators and their transaction for whoever asks the API for a quote, where quotes are configured. */
export const quoting: Duty = async ({ ports, running, vault, lease, chains, book, funded, room }, signal) => {
  if (quoteConfigOf(running.config) === undefined) return
  const { log, config } = running
  const keys = new QuotedKeys({ created: book.created, funded, rules: config.validators })
  const parts: Quoting = { vault, writer: lease, book, room, log, now: Date.now, keys }
  await ports.jobQueue.work({
    name: quoteStake.name,
    concurrency: QUOTED_AT_ONCE,
    signal,
    async handle(job) {
      const input = quoteStake.parse(job.input)
      const chain = await chains.of(input.chain)
      if (chain === undefined) return { status: 'unavailable' }
      return await quoteForAddress(parts, chain, input).catch((error: unknown) => {
        if (error instanceof AppError) log.warn({ chain: input.chain, reason: error.message }, 'no quote could be made')
        throw error
      })
    },
  })
}
