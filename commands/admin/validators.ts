import { text } from 'node:stream/consumers'
import { selectChain } from '../../infra/config/select-chain.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
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
import type { Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount, checkedDay, type FactEnvelope } from './account-facts.ts'
import { ownerChanges } from './owner-changes.ts'
import { giveUpDay, type KeysOfChain, takeDay, trackedAnew } from './ownership-rules.ts'
import { guardBy } from './settlement-guard.ts'

const PUBKEY = /^0x[0-9a-f]{96}$/

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
  options: Named & { readonly at?: string; readonly watch?: boolean; readonly yes?: boolean },
  args: readonly string[],
): Promise<void> {
  const account = checkedAccount(options.account)
  const of = await keysOf(setting, options.chain, args)
  if (options.watch === true) return watchValidators(setting, { account, at: options.at, isWatching: true }, of)
  const asked = options.at === undefined ? undefined : checkedDay(options.at, '--at')
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
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
    await guardBy(setting, { book, changes, yes: options.yes === true })
    const already = of.pubkeys.length - pubkeys.length
    return {
      facts: tracking(envelope, taken, { account, day }),
      said:
        `${pubkeys.length} validators of ${of.chain} are tracked for ${account} ${sinceText(day)}${alreadyText(already)}: ` +
        `followed from the next finalized epoch on; backfill brings what was before.\n${laterText(ownership, taken, day)}`,
    }
  })
}

/** Locked days stay as they are: without a day of its own, a key begins behind them. */
function firstOpenDay(book: AccountBook, account: string): DayNumber | undefined {
  const locked = book.lockedThrough(account)
  return locked === undefined ? undefined : locked + 1
}

/** Ends the account's days with validators: from a UTC+8 day on they are nobody's. With `watch` it no longer sees them. */
export async function untrackValidators(
  setting: Setting,
  options: Named & { readonly at?: string; readonly watch?: boolean; readonly yes?: boolean },
  args: readonly string[],
): Promise<void> {
  const account = checkedAccount(options.account)
  const of = await keysOf(setting, options.chain, args)
  if (options.watch === true) return watchValidators(setting, { account, at: options.at, isWatching: false }, of)
  const day = checkedDay(requiredAt(options.at), '--at')
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    const { ownership } = book
    const { chain, pubkeys } = giveUpDay(ownership, of, { account, day })
    const from = formatDay(day)
    const log = { eventLog, signal: setting.signal }
    const changes = await ownerChanges(book, log, of, { day, from: account, to: NOBODY })
    await guardBy(setting, { book, changes, yes: options.yes === true })
    const facts = inParts(pubkeys, (part) =>
      encodeEvent(validatorsUntracked, {
        ...envelope,
        id: `account.validators-untracked:${chain}:${part[0]}:${part.length}:${from}`,
        data: { chain, pubkeys: part, from },
      }),
    )
    const said = `${pubkeys.length} validators of ${chain} are nobody's from ${from} on; ${account} keeps what it had before.\n`
    return { facts, said: said + laterText(ownership, of, day) }
  })
}

/** Gives validators of one account to another, from a UTC+8 day on. */
export async function moveValidators(
  setting: Setting,
  options: {
    readonly from: string
    readonly to: string
    readonly at: string
    readonly chain?: string
    readonly yes?: boolean
  },
  args: readonly string[],
): Promise<void> {
  const from = checkedAccount(options.from, '--from')
  const to = checkedAccount(options.to, '--to')
  const day = checkedDay(options.at, '--at')
  if (from === to) throw new AppError('usage', `--from and --to are one account, ${from}: nothing was moved.`)
  const of = await keysOf(setting, options.chain, args)
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    const { ownership } = book
    giveUpDay(ownership, of, { account: from, day })
    const log = { eventLog, signal: setting.signal }
    const changes = await ownerChanges(book, log, of, { day, from, to })
    await guardBy(setting, { book, changes, yes: options.yes === true })
    const said = `${of.pubkeys.length} validators of ${of.chain} are ${to}'s from ${formatDay(day)} on; ${from} keeps what it had before.\n`
    return { facts: tracking(envelope, of, { account: to, day }), said: said + laterText(ownership, of, day) }
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
  await addAccountFacts(setting, ({ ownership }, envelope) => {
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

function sinceText(day: DayNumber | undefined): string {
  return day === undefined ? 'from the start of all history on' : `from ${formatDay(day)} on`
}

function alreadyText(already: number): string {
  return already === 0 ? '' : ` (${already} more were already)`
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

/** The chain that is meant, and the public keys of the arguments or of standard input, each once. */
async function keysOf(setting: Setting, chainName: string | undefined, args: readonly string[]): Promise<KeysOfChain> {
  const chain = selectChain(setting.config, chainName, 'beacon').names.name
  const given = args.length > 0 ? args : (await text(process.stdin)).split(/\s+/).filter((word) => word !== '')
  if (given.length === 0)
    throw new AppError('usage', 'No public keys: name them as arguments or one per line on standard input.')
  const pubkeys = [...new Set(given.map((key) => key.toLowerCase()))]
  const wrong = pubkeys.find((key) => !PUBKEY.test(key))
  if (wrong !== undefined) {
    throw new AppError(
      'usage',
      `${JSON.stringify(wrong.slice(0, 20))} is not a BLS public key: 0x and 96 hex digits; nothing was tracked.`,
    )
  }
  return { chain, pubkeys }
}
