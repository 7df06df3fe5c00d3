import type { AccountBook } from '../../schemas/account-book.ts'
import { checksumAddress } from '../../schemas/eth/address.ts'
import { dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import { END_OF_DAYS, FIRST_DAY, type Interval } from '../../schemas/ownership.ts'
import { nowSec, type Setting } from '../setting.ts'
import { checkedAccount, readAccountBook } from './account-facts.ts'
import { knownAccount } from './known-account.ts'
import { formatTokens, tokensOf } from './tokens.ts'

/** Prints a line for each account: its validators today, its fee rate, its tokens that work. */
export async function listAccounts(setting: Setting): Promise<void> {
  const book = await readAccountBook(setting)
  const accounts = book.accounts()
  if (accounts.length === 0) {
    setting.screen.print('There is no account yet: admin token create --account <name> --new makes one.\n')
    return
  }
  const now = nowSec()
  const width = accounts.reduce((most, account) => Math.max(most, account.length), 0)
  for (const account of accounts) {
    const working = tokensOf(book, account).filter(({ revokedAt }) => revokedAt === undefined).length
    const chains = validatorsOf(book, account).map(({ chain, owned, watched }) => {
      const count = owned.filter(({ intervals }) => intervals.some((one) => isOn(one, dayOfInstant(now)))).length
      return `${count} validators of ${chain}${watched > 0 ? ` (${watched} watched)` : ''}`
    })
    const facts = [chains.join(', ') || 'no validators', `fee rate ${rateAt(book, account, now)}`, `${working} tokens`]
    setting.screen.print(`${account.padEnd(width)}  ${facts.join('; ')}\n`)
  }
}

/** Prints what operators have said of one account. Throws AppError `usage` for one that nobody has made. */
export async function showAccount(setting: Setting, name: string): Promise<void> {
  const account = checkedAccount(name, 'the name')
  const book = await readAccountBook(setting)
  knownAccount(book, account)
  const lines = [`account ${account}`, 'tokens', ...indented(formatTokens(tokensOf(book, account)))]
  const rates = book.ratesOf(account).map(({ rate, effectiveFromSec, saidAt }) => {
    const since = formatDay(dayOfInstant(effectiveFromSec))
    return `${rate} from ${since} on, said ${saidAt}`
  })
  lines.push('fee rates, of two for one day the later one counts', ...indented(rates))
  for (const { chain, owned, watched } of validatorsOf(book, account)) {
    lines.push(`validators of ${chain}: ${owned.length}, and ${watched} watched`)
    const ofValidators = owned.flatMap(({ pubkey, intervals }) => [
      `${pubkey} ${intervals.map(formatInterval).join(', ')}`,
      ...book.recipientsOf(chain, pubkey).map((paid) => {
        return `  paid at ${checksumAddress(paid.address)} ${formatInterval(paid)}`
      }),
      ...book
        .presignedOf(chain, pubkey)
        .map(({ recipient, saidAt }) => `  a signed exit was handed out ${saidAt}, encrypted to ${recipient}`),
    ])
    lines.push(...indented(ofValidators))
  }
  setting.screen.print(`${lines.join('\n')}\n`)
}

interface OfChain {
  readonly chain: string
  readonly owned: readonly { readonly pubkey: string; readonly intervals: readonly Interval[] }[]
  readonly watched: number
}

function validatorsOf({ ownership }: AccountBook, account: string): readonly OfChain[] {
  return [...ownership.keysOf(account).keys()].map((chain) => {
    const seen = [...ownership.seenBy(account, chain).keys()].sort()
    const owned = seen.flatMap((pubkey) => {
      const intervals = ownership.ownersOf(chain, pubkey).filter((one) => one.account === account)
      return intervals.length === 0 ? [] : [{ pubkey, intervals }]
    })
    return { chain, owned, watched: seen.filter((pubkey) => ownership.isWatching(account, chain, pubkey)).length }
  })
}

function isOn({ fromDay, toDay }: Interval, day: number): boolean {
  return fromDay <= day && day < toDay
}

function formatInterval({ fromDay, toDay }: Interval): string {
  const from = fromDay === FIRST_DAY ? 'all history' : `from ${formatDay(fromDay)}`
  return toDay === END_OF_DAYS ? from : `${from} until ${formatDay(toDay)}`
}

/** The rate in force: of all that begin by now the latest, of two for one instant the one said later. */
function rateAt(book: AccountBook, account: string, now: number): string {
  const begun = book.ratesOf(account).filter(({ effectiveFromSec }) => effectiveFromSec <= now)
  const [newest] = begun.toReversed().toSorted((a, b) => b.effectiveFromSec - a.effectiveFromSec)
  return newest?.rate ?? 'none'
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? ['  none'] : lines.map((line) => `  ${line}`)
}
