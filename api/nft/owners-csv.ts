import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CSV_HEADER, ownersCsvRoute } from '../../schemas/routes/nft/ownership.ts'
import { openBudget } from '../http/budget.ts'
import { chainOf } from '../http/chain-path.ts'
import { goneSignal } from '../http/gone.ts'
import { wholeAmount } from './amounts.ts'
import { answered, formatValidAt, isOfOneChain, type NftScope, nftOperation, openScope, toValidAt } from './asking.ts'
import { coverageOf } from './coverage.ts'
import { holdersOf } from './ownership.ts'
import { selectPage } from './pages.ts'
import type { Streaming } from './serve.ts'
import type { NftStandings } from './standing.ts'

const OWNERS_PER_READ = 5_000
/** A contract of millions of owners takes some minutes. */
const STREAM_MS_MAX = 20 * 60_000

/** It is streamed; nothing asks for it as one text. */
export const ownersCsv = nftOperation(ownersCsvRoute, async () => answered(''))

export const streamOwnersCsv: Streaming = async (request: FastifyRequest, reply: FastifyReply, asked) => {
  const { parts, standings, values } = asked
  const { account } = request
  const signal = goneSignal(reply, STREAM_MS_MAX)
  // Each read has a budget of its own.
  const budget = () => openBudget({ ...parts, account, signal })
  const scope = await openScope({ ...asked, chain: chainOf(request).names.name, warehouse: budget() })
  const { contract_address: contract } = values as { readonly contract_address: string }
  const { from_block, is_whole } = await coverageOf(scope, { asked: [contract] })
  const lines = linesOf(standings, { contract, isWhole: is_whole }, () => ({ ...scope, warehouse: budget() }))
  reply
    .header('content-type', 'text/csv; charset=utf-8')
    .header('x-coverage', `from_block=${from_block}, is_whole=${is_whole ? '?1' : '?0'}`)
    .header('cache-control', 'private, no-cache')
    .header('x-valid-at', formatValidAt(toValidAt(scope.snapshot)))
    .send(Readable.from(lines))
  return true
}

async function* linesOf(
  standings: NftStandings,
  { contract, isWhole }: { readonly contract: string; readonly isWhole: boolean },
  scopeOfRead: () => NftScope,
): AsyncGenerator<string> {
  yield `${CSV_HEADER}\n`
  let after: readonly string[] | undefined
  do {
    const page = await selectPage(scopeOfRead(), holdersOf(contract), { limit: OWNERS_PER_READ, after })
    yield page.items
      .map((item) => `${item.other_text},${wholeAmount(item)},${item.tokens},${item.block_number},${isWhole}\n`)
      .join('')
    after = page.next
  } while (after !== undefined)
  // Breaks the stream off: what was sent may have rows of two branches.
  if (!(await isOfOneChain(standings, scopeOfRead()))) throw new Error('blocks were reverted meanwhile')
}
