import { REQUESTED_EXITS_MAX } from '../../schemas/eth/withdrawal-request.ts'
import { quoteUnstake } from '../../schemas/jobs/quote-unstake.ts'
import { refuseQuote } from '../../schemas/routes/quotes/quote-route.ts'
import { unstakeQuoteRoute } from '../../schemas/routes/quotes/unstake-quote.ts'
import { askJob } from '../http/ask-job.ts'
import { type QuoteScope, quote } from './quote.ts'
import { credentialsOf, readStaker } from './staker.ts'
import { waitingDeposit } from './waiting-deposit.ts'

/** A request has eight bytes for it. */
const AMOUNT_GWEI_MAX = (1n << 64n) - 1n
/** So long a question waits for its answer. */
const QUOTE_MS_MAX = 20_000

export const unstakeQuote = quote(unstakeQuoteRoute, async (query, scope) => {
  if (query.address === undefined || query.pubkeys === undefined)
    return refuseQuote(405, 'address or pubkeys are missing')
  const staker = readStaker(query.address)
  if (staker.status === 'refused') return staker
  const pubkeys = query.pubkeys === 'all' ? ('all' as const) : readPubkeys(query.pubkeys)
  if (pubkeys.length > REQUESTED_EXITS_MAX)
    return refuseQuote(405, `pubkeys are more than ${REQUESTED_EXITS_MAX} validators`)
  const { chain } = scope
  const { amount } = query
  if (amount !== undefined && BigInt(amount) > AMOUNT_GWEI_MAX)
    return refuseQuote(405, 'amount is more than eight bytes')
  const input = {
    ...{ chain, address: staker.address, pubkeys },
    ...(amount === undefined ? {} : { amountGwei: amount }),
  }
  const output = await askJob(scope, quoteUnstake, { input, timeoutMs: QUOTE_MS_MAX })
  switch (output?.status) {
    case 'quoted':
      return { status: 'quoted', answer: output.transaction }
    case 'refused':
      return refuseQuote(405, await reasonOf(output, scope, staker.address))
    case 'unavailable':
    case undefined:
      return refuseQuote(500, 'no quote can be made at the moment')
  }
})

/** Of a validator that the registry does not know yet the tables may have its deposit, by whomever it was sent. */
async function reasonOf(
  { reason, unknown }: { readonly reason: string; readonly unknown?: string },
  scope: QuoteScope,
  address: string,
): Promise<string> {
  const transaction = unknown === undefined ? undefined : await waitingDeposit(scope, unknown, credentialsOf(address))
  if (transaction === undefined) return reason
  const waits = `its deposit (transaction ${transaction}) is on chain and not credited yet`
  return `${reason}: ${waits}, and a request is ignored until the validator has been active for long enough`
}

/** Lower-case hex with 0x, each once. */
function readPubkeys(text: string): string[] {
  return [...new Set(text.split(',').map((pubkey) => `0x${pubkey.toLowerCase().replace(/^0x/, '')}`))]
}
