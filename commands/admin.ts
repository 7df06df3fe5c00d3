import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { selectChain } from '../infra/config/select-chain.ts'
import { openEventLog } from '../infra/open-ports.ts'
import { AppError } from '../schemas/errors.ts'
import { DAY_OFFSET_SEC, DAY_SEC, dayOfInstant, formatInstant, parseDay } from '../schemas/eth/time.ts'
import { parseRate } from '../schemas/eth/units.ts'
import {
  ACCOUNT_PATTERN,
  ACCOUNTS_KEY,
  feeRateSet,
  hashToken,
  TRACKED_PER_EVENT_MAX,
  tokenCreated,
  tokenRevoked,
  validatorsTracked,
} from '../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../schemas/events/codec.ts'
import { nowSec, type Setting } from './setting.ts'

const TOKEN_BYTES = 24
const PUBKEY = /^0x[0-9a-f]{96}$/

/** Creates a token for the account and prints it; the log keeps its hash only. */
export async function createToken(setting: Setting, account: string): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const tokenHash = hashToken(token)
  await appendFacts(setting, (fact) => [
    encodeEvent(tokenCreated, {
      ...fact,
      id: `account.token-created:${tokenHash}`,
      data: { account: checkedAccount(account), tokenHash },
    }),
  ])
  setting.screen.print(`${token}\n`)
}

/** Revokes the token on standard input: arguments can be read by every process of the machine. */
export async function revokeToken(setting: Setting): Promise<void> {
  const token = (await text(process.stdin)).trim()
  if (token === '')
    throw new AppError(
      'usage',
      'No token on standard input: write it there, e.g. echo "$TOKEN" | epochline admin token revoke.',
    )
  const tokenHash = hashToken(token)
  if (!(await isTokenKnown(setting, tokenHash)))
    throw new AppError('usage', 'No such token was ever created here: nothing was revoked.')
  await appendFacts(setting, (fact) => [
    encodeEvent(tokenRevoked, { ...fact, id: `account.token-revoked:${tokenHash}`, data: { tokenHash } }),
  ])
}

async function isTokenKnown({ config, log, signal }: Setting, tokenHash: string): Promise<boolean> {
  await using eventLog = await openEventLog(config, log)
  for await (const { event } of eventLog.read({ topic: 'accounts', signal })) {
    if (event.type === tokenCreated.name && decodeEvent(tokenCreated, event).tokenHash === tokenHash) return true
  }
  return false
}

/** Counts validators of a chain for the account from now on. */
export async function trackValidators(
  setting: Setting,
  options: { readonly account: string; readonly chain?: string },
  args: readonly string[],
): Promise<void> {
  const { account } = options
  const chain = selectChain(setting.config, options.chain, 'beacon').names.name
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
  await appendFacts(setting, (fact) => {
    const events: EncodedEvent[] = []
    for (let at = 0; at < pubkeys.length; at += TRACKED_PER_EVENT_MAX) {
      const part = pubkeys.slice(at, at + TRACKED_PER_EVENT_MAX)
      events.push(
        encodeEvent(validatorsTracked, {
          ...fact,
          id: `account.validators-tracked:${chain}:${account}:${part[0]}:${part.length}`,
          data: { chain, account: checkedAccount(account), pubkeys: part },
        }),
      )
    }
    return events
  })
  setting.screen.print(
    `${pubkeys.length} validators of ${chain} are tracked for ${account} from the next finalized epoch on; backfill brings what was before.\n`,
  )
}

/** Sets the account's fee rate from the start of a UTC+8 day on. */
export async function setFeeRate(
  setting: Setting,
  options: { readonly account: string; readonly rate: string; readonly from?: string },
): Promise<void> {
  if (parseRate(options.rate) === undefined) {
    throw new AppError(
      'usage',
      `--rate is not a decimal fraction from 0 to 1: ${JSON.stringify(options.rate)}; e.g. --rate 0.1.`,
    )
  }
  const day = options.from === undefined ? dayOfInstant(nowSec()) : parseDay(options.from)
  if (day === undefined)
    throw new AppError(
      'usage',
      `--from is not a date YYYY-MM-DD: ${JSON.stringify(options.from)}; e.g. --from 2026-01-31.`,
    )
  const effectiveFrom = formatInstant(day * DAY_SEC - DAY_OFFSET_SEC)
  await appendFacts(setting, (fact) => [
    encodeEvent(feeRateSet, {
      ...fact,
      id: `account.fee-rate-set:${options.account}:${effectiveFrom}`,
      data: { account: checkedAccount(options.account), rate: options.rate, effectiveFrom },
    }),
  ])
}

function checkedAccount(account: string): string {
  if (new RegExp(ACCOUNT_PATTERN).test(account)) return account
  throw new AppError(
    'usage',
    `--account is not a name of a-z, 0-9, - and _ (at most 63): ${JSON.stringify(account)}; e.g. --account acme.`,
  )
}

/** Account facts need the log only, so this works while the program runs. Their time is the operator's clock. */
async function appendFacts(
  { config, log }: Setting,
  events: (fact: { readonly key: string; readonly time: string }) => readonly EncodedEvent[],
): Promise<void> {
  const facts = events({ key: ACCOUNTS_KEY, time: formatInstant(Math.floor(nowSec())) })
  await using eventLog = await openEventLog(config, log)
  await eventLog.append('accounts', facts)
}
