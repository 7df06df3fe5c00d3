import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { parseAllowLists } from '../../api/http/parse-allow-lists.ts'
import { hasBeacon, selectChain } from '../../infra/config/select-chain.ts'
import {
  TOKEN_FAMILIES,
  TOKEN_HASH_CHARACTERS,
  TOKEN_NAME_MAX,
  TOKEN_NAME_PATTERN,
  TOKEN_SCOPES,
} from '../../schemas/access-token.ts'
import type { AccountBook, TokenFact } from '../../schemas/account-book.ts'
import { ALLOW_BYTES_MAX, ALLOW_ENTRIES_MAX, ALLOW_LISTS, type AllowLists } from '../../schemas/allow-lists.ts'
import { AppError } from '../../schemas/errors.ts'
import { hashToken, type TokenCreated, tokenCreated, tokenRevoked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import type { Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount, readAccountBook } from './account-facts.ts'
import { checkedNames } from './checked-names.ts'
import { knownAccount, refuseKnownAccount } from './known-account.ts'
import { mailToken, openMailTo } from './mail-token.ts'

const TOKEN_BYTES = 24
/** Of a hash, by which a token is named: fewer are a slip sooner than a name. */
const HASH_CHARACTERS_MIN = 8
const HASH_BEGINNING = new RegExp(`^[0-9a-f]{${HASH_CHARACTERS_MIN},64}$`)
const nothingDone = 'no token was created'

interface TokenOptions {
  readonly account: string
  /** Make the account with it. */
  readonly new: boolean
  readonly name?: string
  readonly scope?: readonly string[]
  readonly family?: readonly string[]
  readonly chain?: string
  readonly allowOrigin?: readonly string[]
  readonly allowIp?: readonly string[]
  readonly allowMethod?: readonly string[]
  readonly allowContract?: readonly string[]
  /** A mail address that it is sent to; without it it is printed. */
  readonly mailTo?: string
}

/**
 * Creates a token for an account, a new one if that is asked for, and prints it, or sends it by mail; the log keeps its hash only. It reads unless scopes
 * are named, in all families and of all chains unless some are, from everywhere and for everything unless something is allowed. Throws AppError `usage` for what names none of these.
 */
export async function createToken(setting: Setting, options: TokenOptions): Promise<void> {
  const { account, new: isNew, name = '', scope = ['read'], family, chain, mailTo } = options
  const allow = checkedLists(options)
  const of = chain === undefined ? undefined : selectChain(setting.config, chain)
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const tokenHash = hashToken(token)
  const data: TokenCreated = {
    account: checkedAccount(account),
    tokenHash,
    name: checkedName(name),
    scopes: checkedNames({ option: '--scope', nothingDone }, scope, TOKEN_SCOPES),
    ...(family === undefined
      ? {}
      : { families: checkedNames({ option: '--family', nothingDone }, family, TOKEN_FAMILIES) }),
    ...(of === undefined ? {} : { chain: of.names.name }),
    ...(allow === undefined ? {} : { allow }),
  }
  if (of !== undefined && !hasBeacon(of))
    setting.log.warn({ chain: of.names.name }, 'the chain has no validators: NFTs alone are served there')
  await using mail = mailTo === undefined ? undefined : await openMailTo(setting, mailTo)
  await addAccountFacts(setting, (book, envelope) => {
    if (isNew) refuseKnownAccount(book, account)
    else knownAccount(book, account)
    return {
      facts: [encodeEvent(tokenCreated, { ...envelope, id: `account.token-created:${tokenHash}`, data })],
      ...(mail === undefined ? { said: `${token}\n` } : {}),
    }
  })
  if (mail !== undefined && mailTo !== undefined) await mailToken(setting, mail, { to: mailTo, account, token })
}

function checkedName(name: string): string {
  if (new RegExp(TOKEN_NAME_PATTERN, 'u').test(name)) return name
  throw new AppError(
    'usage',
    `--name is a text of at most ${TOKEN_NAME_MAX} printable characters, not ${JSON.stringify(name)}: no token was created.`,
  )
}

const OPTION_OF = { origins: 'origin', ips: 'ip', methods: 'method', contracts: 'contract' } as const

function checkedLists({ allowOrigin, allowIp, allowMethod, allowContract }: TokenOptions): TokenCreated['allow'] {
  const given = {
    ...(allowOrigin === undefined ? {} : { origins: allowOrigin }),
    ...(allowIp === undefined ? {} : { ips: allowIp }),
    ...(allowMethod === undefined ? {} : { methods: allowMethod }),
    ...(allowContract === undefined ? {} : { contracts: allowContract }),
  }
  const parsed = parseAllowLists(given)
  if (parsed.status === 'refused')
    throw new AppError(
      'usage',
      `--allow-${OPTION_OF[parsed.list]} has ${JSON.stringify(parsed.entry)}, ${parsed.why}: ${nothingDone}.`,
    )
  if (parsed.status === 'too-large')
    throw new AppError('usage', `The --allow options have more than ${ALLOW_BYTES_MAX} bytes: ${nothingDone}.`)
  const long = ALLOW_LISTS.find((list) => (parsed.allow?.[list]?.length ?? 0) > ALLOW_ENTRIES_MAX)
  if (long !== undefined)
    throw new AppError(
      'usage',
      `--allow-${OPTION_OF[long]} has more than ${ALLOW_ENTRIES_MAX} entries: ${nothingDone}.`,
    )
  return parsed.allow
}

/** Revokes the token on standard input: arguments can be read by every process of the machine. */
export async function revokeToken(setting: Setting, input: AsyncIterable<Uint8Array> = process.stdin): Promise<void> {
  const token = (await text(input)).trim()
  if (token === '')
    throw new AppError(
      'usage',
      'No token on standard input: write it there, e.g. echo "$TOKEN" | epochline admin token revoke; or name it by --sha256.',
    )
  const tokenHash = hashToken(token)
  await revokeOf(setting, (book) => {
    const created = book.tokens().get(tokenHash)
    if (created === undefined) throw new AppError('usage', 'No such token was ever created here: nothing was revoked.')
    return created
  })
}

/**
 * Revokes the token whose hash begins so, as `listTokens` tells it: nobody has to have the token itself. Throws AppError `usage` where
 * none or several begin so.
 */
export async function revokeTokenOfHash(setting: Setting, beginning: string): Promise<void> {
  const begun = checkedBeginning(beginning)
  await revokeOf(setting, (book) => {
    const found = [...book.tokens().values()].filter(({ tokenHash }) => tokenHash.startsWith(begun))
    const [first, ...others] = found
    if (first === undefined) throw new AppError('usage', `No token has a sha256 ${begun}…: nothing was revoked.`)
    if (others.length > 0) {
      const all = found.map(({ tokenHash, account }) => `${tokenHash} of ${account}`).join(', ')
      throw new AppError(
        'usage',
        `--sha256 is the beginning of ${found.length} tokens, ${all}: nothing was revoked; give more of it.`,
      )
    }
    return first
  })
}

/** Lower case, without the mark behind a hash that is cut. */
function checkedBeginning(beginning: string): string {
  const begun = beginning.trim().replace(/…$/, '').toLowerCase()
  if (HASH_BEGINNING.test(begun)) return begun
  throw new AppError(
    'usage',
    `--sha256 is ${HASH_CHARACTERS_MIN} to 64 hex digits, the beginning of a token's hash as admin token list prints it, not ${JSON.stringify(beginning)}: nothing was revoked.`,
  )
}

async function revokeOf(setting: Setting, choose: (book: AccountBook) => TokenFact): Promise<void> {
  await addAccountFacts(setting, (book, envelope) => {
    const { tokenHash, account } = choose(book)
    const id = `account.token-revoked:${tokenHash}`
    return {
      facts: [encodeEvent(tokenRevoked, { ...envelope, id, data: { tokenHash } })],
      said: `The token sha256 ${tokenHash.slice(0, TOKEN_HASH_CHARACTERS)}… of ${account} was revoked.\n`,
    }
  })
}

function formatLists(allow: AllowLists): readonly string[] {
  return ALLOW_LISTS.flatMap((list) => {
    const entries = allow[list]
    return entries === undefined ? [] : [`${list} ${entries.join(',')}`]
  })
}

export function tokensOf(book: AccountBook, account: string): readonly TokenFact[] {
  return [...book.tokens().values()].filter((token) => token.account === account)
}

/** A line each: the beginning of its SHA-256, its name, what it is for, when it was created, and whether it still works. */
export function formatTokens(tokens: readonly TokenFact[]): readonly string[] {
  return tokens.map(({ tokenHash, account, name, scopes, families, chain, allow = {}, order, createdAt, revokedAt }) =>
    [
      `sha256 ${tokenHash.slice(0, TOKEN_HASH_CHARACTERS)}…`,
      account,
      name === '' ? 'no name' : JSON.stringify(name),
      `scopes ${scopes.join(',')}`,
      families === undefined ? 'all families' : `families ${families.join(',')}`,
      chain === undefined ? 'all chains' : `chain ${chain}`,
      ...formatLists(allow),
      ...(order === undefined ? [] : [`order ${order.id} until ${order.until}`]),
      `created ${createdAt}${revokedAt === undefined ? '' : `, revoked ${revokedAt}`}`,
    ].join('  '),
  )
}

/** Prints a line for each token, of one account if it is given; tokens are told by the beginning of their hash. */
export async function listTokens(setting: Setting, account: string | undefined): Promise<void> {
  const book = await readAccountBook(setting)
  if (account !== undefined) knownAccount(book, checkedAccount(account))
  const lines = formatTokens(account === undefined ? [...book.tokens().values()] : tokensOf(book, account))
  setting.screen.print(lines.length === 0 ? 'There are no tokens.\n' : `${lines.join('\n')}\n`)
}
