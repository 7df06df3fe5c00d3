import { text } from 'node:stream/consumers'
import { selectChain } from '../../infra/config/select-chain.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import { TRACKED_PER_EVENT_MAX } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { type FeeRecipientsTold, feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { FIRST_DAY } from '../../schemas/ownership.ts'
import type { Setting } from '../setting.ts'
import { addAccountFacts, checkedDay, sinceText } from './account-facts.ts'
import { parseKeys, readKeys } from './public-keys.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/i
const BETWEEN_COLUMNS = /[\s,;"']+/

type Recipient = FeeRecipientsTold['recipients'][number]

/**
 * Says that validators are paid at an address from a UTC+8 day on, or takes it back: what their blocks of these days paid is read
 * again. Without a day it holds for all of history; without `recipient`, standard input has the address of each validator beside its
 * key. Works while the program runs.
 */
export async function tellFeeRecipients(
  setting: Setting,
  options: {
    readonly recipient?: string
    readonly chain?: string
    readonly takeBack?: boolean
    readonly from?: string
  },
  args: readonly string[],
): Promise<void> {
  const day = options.from === undefined ? undefined : checkedDay(options.from, '--from')
  const { chain, recipients } =
    options.recipient === undefined
      ? await readPairs(setting, options.chain, args)
      : await oneForAll(setting, { ...options, recipient: options.recipient }, args)
  const isOwn = options.takeBack !== true
  await addAccountFacts(setting, (book, envelope) => {
    for (const { pubkey } of recipients) refuseLocked(book, { chain, pubkey }, day ?? FIRST_DAY)
    const parts = Array.from({ length: Math.ceil(recipients.length / TRACKED_PER_EVENT_MAX) }, (_, part) =>
      recipients.slice(part * TRACKED_PER_EVENT_MAX, (part + 1) * TRACKED_PER_EVENT_MAX),
    )
    const from = day === undefined ? {} : { from: formatDay(day) }
    const verb = isOwn ? 'are known' : 'were taken back'
    return {
      facts: parts.map((part) =>
        encodeEvent(feeRecipientsTold, {
          ...envelope,
          id: [
            ...['validator.fee-recipients-told', chain, part[0]?.pubkey, part[0]?.address, part.length, envelope.time],
            ...Object.values(from),
          ].join(':'),
          data: { chain, recipients: part, isOwn, ...from },
        }),
      ),
      said: `${recipients.length} fee recipients of validators of ${chain} ${verb} ${sinceText(day)}; their blocks are read again.\n`,
    }
  })
}

async function oneForAll(
  setting: Setting,
  options: { readonly recipient: string; readonly chain?: string },
  args: readonly string[],
): Promise<{ readonly chain: string; readonly recipients: Recipient[] }> {
  if (!ADDRESS.test(options.recipient)) {
    throw new AppError(
      'usage',
      `--recipient is not an address, 0x and 40 hex digits: ${JSON.stringify(options.recipient.slice(0, 50))}.`,
    )
  }
  const address = options.recipient.toLowerCase()
  const { chain, pubkeys } = await readKeys(setting, options.chain, args)
  return { chain, recipients: pubkeys.map((pubkey) => ({ pubkey, address })) }
}

async function readPairs(
  setting: Setting,
  chainName: string | undefined,
  args: readonly string[],
): Promise<{ readonly chain: string; readonly recipients: Recipient[] }> {
  const chain = selectChain(setting.config, chainName, 'beacon').names.name
  if (args.length > 0)
    throw new AppError('usage', 'Say where these validators are paid: --recipient 0x…; nothing was told.')
  const recipients = (await text(process.stdin)).split('\n').flatMap((line, index) => {
    const keys = parseKeys([line], 'line')
    const address = line
      .split(BETWEEN_COLUMNS)
      .find((column) => ADDRESS.test(column))
      ?.toLowerCase()
    if (keys.length > 0 && address === undefined) {
      throw new AppError(
        'usage',
        `line ${index + 1} has a public key and no address, 0x and 40 hex digits; nothing was told.`,
      )
    }
    return keys.map((pubkey) => ({ pubkey, address: address ?? '' }))
  })
  if (recipients.length > 0) return { chain, recipients }
  throw new AppError('usage', 'No lines with a public key and an address on standard input; nothing was told.')
}

/** Settlements that nothing may change must not follow from it anew. */
function refuseLocked(
  book: AccountBook,
  { chain, pubkey }: { readonly chain: string; readonly pubkey: string },
  from: DayNumber,
): void {
  for (const { account, fromDay, toDay } of book.ownership.ownersOf(chain, pubkey)) {
    const through = book.lockedThrough(account)
    if (through === undefined || Math.max(from, fromDay) > through || toDay <= from) continue
    throw new AppError(
      'usage',
      `The settlements of ${account} are locked through ${formatDay(through)}, and this might change those of ${pubkey}: ` +
        'correct them by a record of today (admin settlements correct); nothing was told.',
    )
  }
}
