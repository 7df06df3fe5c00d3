import { text } from 'node:stream/consumers'
import { selectChain } from '../../infra/config/select-chain.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { hasRightChecksum } from '../../schemas/eth/address.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import { TRACKED_PER_EVENT_MAX } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { type FeeRecipientsTold, feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { END_OF_DAYS, FIRST_DAY } from '../../schemas/ownership.ts'
import { RECIPIENTS_PER_CHANGE_MAX, type SettlementChange } from '../../schemas/settlement-change.ts'
import type { Setting } from '../setting.ts'
import { addAccountFacts, checkedDay, sinceText } from './account-facts.ts'
import { identifiedOn } from './identified.ts'
import { parseKeys, readKeys } from './public-keys.ts'
import { type Concerned, type GuardOptions, guardBy } from './settlement-guard.ts'

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
  options: GuardOptions & {
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
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    const told = { chain, recipients, isOwn, from: day ?? FIRST_DAY }
    const changes = await recipientChanges(book, { eventLog, signal: setting.signal }, told)
    const concerned = concernedBy(book, chain, recipients, told.from)
    await guardBy(setting, eventLog, { book, concerned, changes, options })
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
      said: `${recipients.length} fee recipients of validators of ${chain} ${verb} ${sinceText(day)}; their blocks are read again.\n${laterText(book, told)}`,
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
  refuseSlip(options.recipient, '--recipient')
  const address = options.recipient.toLowerCase()
  const { chain, pubkeys } = await readKeys(setting, options.chain, args)
  return { chain, recipients: pubkeys.map((pubkey) => ({ pubkey, address })) }
}

/** It says where money counts: an address whose checksum does not hold was mistyped. */
function refuseSlip(address: string, where: string): void {
  if (hasRightChecksum(address)) return
  throw new AppError(
    'usage',
    `${where} has an address whose letters are not those of its checksum (EIP-55): ${address}; nothing was told. Look at its digits, or write all letters small.`,
  )
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
    const written = line.split(BETWEEN_COLUMNS).find((column) => ADDRESS.test(column))
    if (written !== undefined) refuseSlip(written, `line ${index + 1}`)
    const address = written?.toLowerCase()
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

/** Says of addresses of which something else was said from a later day on: what is told reaches up to it. */
function laterText(book: AccountBook, { chain, recipients, from }: Told): string {
  const lines = recipients.flatMap((recipient) => {
    const next = book.nextRecipientDay(chain, recipient, from)
    if (next === undefined) return []
    return [`  ${recipient.pubkey} at ${recipient.address}: until ${formatDay(next)}, then as was said before\n`]
  })
  return lines.join('')
}

/** The accounts that have one of the validators on a day from `from` on. */
function concernedBy(
  book: AccountBook,
  chain: string,
  told: readonly Recipient[],
  from: DayNumber,
): readonly Concerned[] {
  return told.flatMap(({ pubkey }) =>
    book.ownership
      .ownersOf(chain, pubkey)
      .filter(({ toDay }) => toDay > from)
      .map(({ account, fromDay }) => ({ account, fromDay: Math.max(from, fromDay) })),
  )
}

interface Told {
  readonly chain: string
  readonly recipients: readonly Recipient[]
  readonly isOwn: boolean
  readonly from: DayNumber
}

/**
 * What a fact about fee recipients would change of what was settled: of validators that somebody has, and that the log knows from the
 * registry. A validator's addresses are in one part.
 */
async function recipientChanges(
  book: AccountBook,
  { eventLog, signal }: { readonly eventLog: EventLog; readonly signal: AbortSignal },
  { chain, recipients, isOwn, from }: Told,
): Promise<readonly SettlementChange[]> {
  const known = await identifiedOn(eventLog, chain, signal)
  const settled = recipients.filter(
    ({ pubkey }) => known.has(pubkey) && book.ownership.ownersOf(chain, pubkey).some(({ toDay }) => toDay > from),
  )
  const parts: Recipient[][] = []
  for (const ofKey of Map.groupBy(settled, ({ pubkey }) => pubkey).values()) {
    const last = parts.at(-1)
    if (last !== undefined && last.length + ofKey.length <= RECIPIENTS_PER_CHANGE_MAX) last.push(...ofKey)
    else parts.push([...ofKey])
  }
  return parts.map((part) => ({
    kind: 'recipients',
    chain,
    recipients: part,
    isOwn,
    fromDay: from,
    toDay: END_OF_DAYS,
  }))
}
