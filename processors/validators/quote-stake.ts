import { createHash } from 'node:crypto'
import { isNodeFault } from '../../schemas/errors.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { gasOf } from '../../schemas/eth/staking-transaction.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import type { CreateValidatorsInput } from '../../schemas/jobs/create-validators.ts'
import type { QuoteStakeInput, QuoteStakeOutput } from '../../schemas/jobs/quote-stake.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import { blocksSinceCreation, type DepositChain, depositedKey } from './broadcast-faults.ts'
import { isLate } from './clocks.ts'
import { type Creating, createForAccount, type StakingChain } from './create-validators.ts'
import type { CreatedSet } from './created-keys.ts'
import { createdTerms } from './created-terms.ts'
import type { ChainNow, QuotedKeys } from './quoted-keys.ts'
import { quotedTransaction } from './quoted-transaction.ts'

/**
 * Of a chain's epochs, from its first on: within so many an equal question is answered with the same keys. Half an hour of mainnet: what was
 * signed and is known to no node here, as it waits in a private pool or for other signers, would fund them a second time.
 */
export const QUOTE_EPOCHS = 5

export interface Quoting extends Creating {
  readonly keys: QuotedKeys
}

/** A chain that stakes are quoted on. */
export type QuotedChain = StakingChain & DepositChain

/**
 * The transaction that stakes for whoever asks, with validators of the account that quotes are made for. An equal question gets the same
 * validators until its span of epochs ends, one of them has its deposit, or its address has sent a transaction: it may have been this one,
 * and a validator is funded once.
 */
export async function quoteForAddress(
  quoting: Quoting,
  chain: QuotedChain,
  input: QuoteStakeInput,
): Promise<QuoteStakeOutput> {
  // What waited for longer than its asker does costs the nodes nothing.
  if (isLate(quoting, input.notAfterMs)) return { status: 'unavailable' }
  quoting.keys.addFunded(input.chain, input.deposited)
  try {
    const { node } = chain
    const [facts, slot, { nonce }] = await Promise.all([node.facts(), node.headSlot(), node.terms(input.address)])
    const { clock, depositContract } = facts
    const created = await createOnce(quoting, chain, { input, now: { clock, slot }, nonce, depositContract })
    if (created.status !== 'created') return created
    const { staking_transaction: staking } = JSON.parse(created.answer) as Created
    const transaction = await quotedTransaction(node, {
      from: input.address,
      to: staking.to.toLowerCase(),
      valueWei: BigInt(staking.amount_wei),
      data: staking.contract_call_data as Hex,
      gasFallback: gasOf(input.count),
    })
    if (transaction === undefined) {
      quoting.log.error(
        { chain: chain.name },
        'the staking contract takes no deposits: the simulation of a quote reverts',
      )
      return { status: 'unavailable' }
    }
    return { status: 'quoted', transaction }
  } catch (error) {
    if (!isNodeFault(error)) throw error
    quoting.log.warn({ chain: chain.name, reason: error.message }, 'no quote could be made: no node could be asked')
    return { status: 'unavailable' }
  }
}

interface Asked {
  readonly input: QuoteStakeInput
  readonly now: ChainNow
  /** Of the address: how many transactions it has sent. */
  readonly nonce: number
  /** Lower-case hex. */
  readonly depositContract: string
}

type CreatedOnce =
  | { readonly status: 'created'; readonly answer: string }
  | Exclude<QuoteStakeOutput, { readonly status: 'quoted' }>

/** The validators of the question: those of an equal one before, or new ones within the limits. */
async function createOnce(quoting: Quoting, chain: QuotedChain, asked: Asked): Promise<CreatedOnce> {
  const request = await nextRequest(quoting, chain, asked)
  if (quoting.book.created.hasRequest(request)) return await createForAccount(quoting, chain, request)
  const { chain: name, account, address, client, count } = asked.input
  const asker = { chain: name, account, requestId: request.requestId, address, client, count }
  using place = await quoting.keys.take(asker, asked.now)
  if (place.refusal !== undefined) return { status: 'limited', reason: place.refusal }
  return await createForAccount(quoting, chain, request)
}

/** The first of the question's requests whose validators are not used: a contract may have sent them, which counts no transactions. */
async function nextRequest(quoting: Quoting, chain: QuotedChain, asked: Asked): Promise<CreateValidatorsInput> {
  for (let round = 0; ; round++) {
    const request = requestOf(asked, round)
    const set = quoting.book.created.ofRequest(request)
    if (set === undefined || !(await isUsed(quoting, chain, { set, depositContract: asked.depositContract })))
      return request
  }
}

/** Whether any of the validators has its deposit, or a transaction that may still become one. Throws AppError of a node fault. */
async function isUsed(
  { book, vault, keys }: Quoting,
  chain: QuotedChain,
  { set, depositContract }: { readonly set: CreatedSet; readonly depositContract: string },
): Promise<boolean> {
  const { pubkeys } = set
  if (await keys.areFunded(chain.name, pubkeys)) return true
  // Who could not be reached may have it all the same.
  const sent = book.sent.carrying(chain.name, pubkeys)
  if (sent.some(({ end }) => end === undefined || end === 'mined' || end === 'unsent')) return true
  // The tables and the log are behind the head.
  const terms = await createdTerms({ book, vault }, set, pubkeys)
  const roots = new Map([...terms].map(([pubkey, { depositDataRoot }]) => [pubkey, depositDataRoot]))
  const blocks = await blocksSinceCreation(chain, book, pubkeys)
  const deposited = await depositedKey(chain, { roots, depositContract, blocks })
  if (deposited === undefined) return false
  keys.addFunded(chain.name, [deposited])
  return true
}

/** Of equal questions of one span of epochs it is the same one. */
function requestOf({ input, now: { slot, clock }, nonce }: Asked, round: number): CreateValidatorsInput {
  const { chain, account, strategyId, source, address, count, notAfterMs } = input
  const span = Math.floor(epochOf(clock, slot) / QUOTE_EPOCHS)
  const name = sha256(JSON.stringify(['quote', chain, address, count, source, strategyId, span, nonce, round]))
  const addresses = { withdrawalAddress: address, depositFrom: address, feeRecipient: address }
  return { chain, account, requestId: name, bodyHash: name, count, ...addresses, notAfterMs }
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}
