import type { EventWriter } from '../../infra/ports/event-log.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { validatorLabelled } from '../../schemas/events/validator-labels.ts'
import type { LabelValidatorsInput, LabelValidatorsOutput } from '../../schemas/jobs/label-validators.ts'
import { type Clocks, isLate } from './clocks.ts'
import type { StakingBook } from './staking-book.ts'

export interface Labelling extends Clocks {
  /** As the one who alone tells of labels: one request after the other, so the newest is the last. */
  readonly writer: EventWriter
  readonly book: StakingBook
}

/** Labels all of the validators that are named, or none: whose they are the tables have told, or the book of those that were just created. */
export async function labelForAccount(
  { writer, book, now, wallNow }: Labelling,
  { requestId, chain, account, labels, notAfterMs }: LabelValidatorsInput,
): Promise<LabelValidatorsOutput> {
  if (isLate({ wallNow }, notAfterMs)) return { status: 'late' }
  const foreign = labels.find(({ pubkey, isSeen }) => !isSeen && book.created.of(chain, pubkey)?.account !== account)
  if (foreign !== undefined) return { status: 'foreign', pubkey: foreign.pubkey }
  const event = encodeEvent(validatorLabelled, {
    id: `account.validator-labelled:${requestId}`,
    key: ACCOUNTS_KEY,
    time: formatInstant(Math.floor(now() / 1_000)),
    data: { chain, account, labels: labels.map(({ pubkey, label }) => ({ pubkey, label })) },
  })
  await book.tell(writer, [event])
  return { status: 'labelled' }
}
