import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import {
  TRACKED_PER_EVENT_MAX,
  type ValidatorsWatched,
  validatorsTracked,
  validatorsUntracked,
  validatorsUnwatched,
  validatorsWatched,
} from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { FIRST_DAY, NOBODY, type Ownership } from '../../schemas/ownership.ts'
import { nowSec, type Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount, checkedDay, type FactEnvelope, sinceText } from './account-facts.ts'
import { knownAccount } from './known-account.ts'
import { concernedOwners, ownerChanges } from './owner-changes.ts'
import { giveUpDay, type KeysOfChain, takeDay, trackedAnew } from './ownership-rules.ts'
import { readKeys } from './public-keys.ts'
import { type GuardOptions, guardBy } from './settlement-guard.ts'
import { tellStrangers } from './stranger-keys.ts'

/** A day further from today than this is told. */
const FAR_DAYS = 366

interface Named {
  readonly account: string
  readonly chain?: string
}

/**
 * Makes the account the owner of validators: from a UTC+8 day on, or, of keys that no account has had, from the start of all
 * history. With `watch` it only sees their figures, whosever they are.
 */
export async function trackValidators(
  setting: Setting,
  options: Named & GuardOptions & { readonly at?: string; readonly watch?: boolean },
  args: readonly string[],
): Promise<void> {
  const account = checkedAccount(options.account)
  const of = await readKeys(setting, options.chain, args)
  if (options.watch === true) return watchValidators(setting, { account, at: options.at, isWatching: true }, of)
  const asked = options.at === undefined ? undefined : checkedDay(options.at, '--at')
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    knownAccount(book, account)
    const { ownership } = book
    const pubkeys =
      asked === undefined ? trackedAnew(ownership, of, account) : takeDay(ownership, of, { account, day: asked })
    const day = asked ?? firstOpenDay(book, account)
    const taken = { ...of, pubkeys }
    const since = day ?? FIRST_DAY
    const gained = pubkeys.filter((pubkey) => ownership.ownerOn(of.chain, pubkey, since) !== account)
    const log = { eventLog, signal: setting.signal }
    const change = { day: since, from: NOBODY, to: account }
    const changes = await ownerChanges(book, log, { ...of, pubkeys: gained }, change)
    const concerned = gained.length === 0 ? [] : concernedOwners(change)
    await guardBy(setting, eventLog, { book, concerned, changes, options })
    const already = of.pubkeys.length - pubkeys.length
    return {
      facts: tracking(envelope, taken, { account, day }),
      said:
        `${pubkeys.length} validators of ${of.chain} are tracked for ${account} ${sinceText(day)}${alreadyText(already)}: ` +
        `followed from the next finalized epoch on; backfill brings what was before.\n${laterText(ownership, taken, day)}`,
    }
  })
  await tellStrangers(setting, of)
}

/** Locked days stay as they are: without a day of its own, a key begins behind them. */
function firstOpenDay(book: AccountBook, account: string): DayNumber | undefined {
  const locked = book.lockedThrough(account)
  return locked === undefined ? undefined : locked + 1
}

/** Ends the account's days with validators: from a UTC+8 day on they are nobody's. With `watch` it no longer sees them. */
export async function untrackValidators(
  setting: Setting,
  options: Named & GuardOptions & { readonly at?: string; readonly watch?: boolean },
  args: readonly string[],
): Promise<void> {
  const account = checkedAccount(options.account)
  const of = await readKeys(setting, options.chain, args)
  if (options.watch === true) return watchValidators(setting, { account, at: options.at, isWatching: false }, of)
  const day = checkedDay(requiredAt(options.at), '--at')
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    knownAccount(book, account)
    const { ownership } = book
    const { chain, pubkeys } = giveUpDay(ownership, of, { account, day })
    const from = formatDay(day)
    const log = { eventLog, signal: setting.signal }
    const change = { day, from: account, to: NOBODY }
    const changes = await ownerChanges(book, log, of, change)
    await guardBy(setting, eventLog, { book, concerned: concernedOwners(change), changes, options })
    const facts = inParts(pubkeys, (part) =>
      encodeEvent(validatorsUntracked, {
        ...envelope,
        id: `account.validators-untracked:${chain}:${part[0]}:${part.length}:${from}`,
        data: { chain, pubkeys: part, from },
      }),
    )
    const said = `${pubkeys.length} validators of ${chain} are nobody's from ${from} on; ${account} keeps what it had before.\n`
    return { facts, said: said + laterText(ownership, of, day) + farText(day) }
  })
}

/** Gives validators of one account to another, from a UTC+8 day on. */
export async function moveValidators(
  setting: Setting,
  options: GuardOptions & {
    readonly from: string
    readonly to: string
    readonly at: string
    readonly chain?: string
  },
  args: readonly string[],
): Promise<void> {
  const from = checkedAccount(options.from, '--from')
  const to = checkedAccount(options.to, '--to')
  const day = checkedDay(options.at, '--at')
  if (from === to) throw new AppError('usage', `--from and --to are one account, ${from}: nothing was moved.`)
  const of = await readKeys(setting, options.chain, args)
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    for (const name of [from, to]) knownAccount(book, name)
    const { ownership } = book
    giveUpDay(ownership, of, { account: from, day })
    const log = { eventLog, signal: setting.signal }
    const change = { day, from, to }
    const changes = await ownerChanges(book, log, of, change)
    await guardBy(setting, eventLog, { book, concerned: concernedOwners(change), changes, options })
    const said = `${of.pubkeys.length} validators of ${of.chain} are ${to}'s from ${formatDay(day)} on; ${from} keeps what it had before.\n`
    return {
      facts: tracking(envelope, of, { account: to, day }),
      said: said + laterText(ownership, of, day) + farText(day),
    }
  })
}

async function watchValidators(
  setting: Setting,
  watcher: { readonly account: string; readonly at: string | undefined; readonly isWatching: boolean },
  { chain, pubkeys }: KeysOfChain,
): Promise<void> {
  const { account, at, isWatching } = watcher
  if (at !== undefined)
    throw new AppError('usage', 'Who watches a validator sees all of its days: leave --at out, or --watch.')
  await addAccountFacts(setting, (book, envelope) => {
    knownAccount(book, account)
    const { ownership } = book
    const changed = pubkeys.filter((pubkey) => ownership.isWatching(account, chain, pubkey) !== isWatching)
    const type = isWatching ? validatorsWatched : validatorsUnwatched
    const facts = inParts(changed, (part) => {
      const id = `${type.name}:${chain}:${account}:${part[0]}:${part.length}`
      return encodeEvent<string, ValidatorsWatched>(type, { ...envelope, id, data: { chain, account, pubkeys: part } })
    })
    const verb = isWatching ? 'watched' : 'no longer watched'
    return { facts, said: `${changed.length} validators of ${chain} are ${verb} by ${account}.\n` }
  })
}

function tracking(
  envelope: FactEnvelope,
  { chain, pubkeys }: KeysOfChain,
  { account, day }: { readonly account: string; readonly day: DayNumber | undefined },
): readonly EncodedEvent[] {
  const from = day === undefined ? {} : { from: formatDay(day) }
  return inParts(pubkeys, (part) =>
    encodeEvent(validatorsTracked, {
      ...envelope,
      id: ['account.validators-tracked', chain, account, part[0], part.length, ...Object.values(from)].join(':'),
      data: { chain, account, pubkeys: part, ...from },
    }),
  )
}

function inParts(pubkeys: readonly string[], toEvent: (part: string[]) => EncodedEvent): readonly EncodedEvent[] {
  const events: EncodedEvent[] = []
  for (let at = 0; at < pubkeys.length; at += TRACKED_PER_EVENT_MAX) {
    events.push(toEvent(pubkeys.slice(at, at + TRACKED_PER_EVENT_MAX)))
  }
  return events
}

function alreadyText(already: number): string {
  return already === 0 ? '' : ` (${already} more were already)`
}

/** Says of a day that is far from today how far it is: a slip in its year is seen nowhere else. */
function farText(day: DayNumber): string {
  const days = day - dayOfInstant(nowSec())
  if (Math.abs(days) <= FAR_DAYS || day === FIRST_DAY) return ''
  const side = days > 0 ? 'ahead: until then nothing changes' : 'back'
  return `  ${formatDay(day)} is ${Math.abs(days)} days ${side}. If it is a slip, say the right day too.\n`
}

/** Says of keys that a later fact gives to somebody else, or to nobody: the change reaches up to that day only. */
function laterText(ownership: Ownership, { chain, pubkeys }: KeysOfChain, day: DayNumber | undefined): string {
  if (day === undefined) return ''
  const lines = pubkeys.flatMap((pubkey) => {
    const next = ownership.nextPoint(chain, pubkey, day)
    if (next === undefined) return []
    const whose = next.account === NOBODY ? "nobody's" : `${next.account}'s`
    return [`  ${pubkey}: until ${formatDay(next.fromDay)}, then ${whose}, as was said before\n`]
  })
  return lines.join('')
}

function requiredAt(at: string | undefined): string {
  if (at !== undefined) return at
  throw new AppError('usage', 'Say from which UTC+8 day on: --at YYYY-MM-DD; nothing was changed.')
}
