import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import type { AccountBook, TokenFact } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { hashToken, tokenCreated, tokenRevoked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import type { Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount, readAccountBook } from './account-facts.ts'
import { knownAccount, refuseKnownAccount } from './known-account.ts'

const TOKEN_BYTES = 24

/** Creates a token for an account, a new one if that is asked for, and prints it; the log keeps its hash only. */
export async function createToken(
  setting: Setting,
  { account, isNew }: { readonly account: string; readonly isNew: boolean },
): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const tokenHash = hashToken(token)
  const data = { account: checkedAccount(account), tokenHash }
  await addAccountFacts(setting, (book, envelope) => {
    if (isNew) refuseKnownAccount(book, account)
    else knownAccount(book, account)
    return {
      facts: [encodeEvent(tokenCreated, { ...envelope, id: `account.token-created:${tokenHash}`, data })],
      said: `${token}\n`,
    }
  })
}

/** Revokes the token on standard input: arguments can be read by every process of the machine. */
export async function revokeToken(setting: Setting, input: AsyncIterable<Uint8Array> = process.stdin): Promise<void> {
  const token = (await text(input)).trim()
  if (token === '')
    throw new AppError(
      'usage',
      'No token on standard input: write it there, e.g. echo "$TOKEN" | epochline admin token revoke.',
    )
  const tokenHash = hashToken(token)
  await addAccountFacts(setting, (book, envelope) => {
    const created = book.tokens().get(tokenHash)
    if (created === undefined) throw new AppError('usage', 'No such token was ever created here: nothing was revoked.')
    const id = `account.token-revoked:${tokenHash}`
    return {
      facts: [encodeEvent(tokenRevoked, { ...envelope, id, data: { tokenHash } })],
      said: `The token sha256 ${tokenHash.slice(0, HASH_CHARACTERS)}… of ${created.account} was revoked.\n`,
    }
  })
}

/** Characters of a token's hash that tell it from others: the token itself is nowhere. */
const HASH_CHARACTERS = 12

export function tokensOf(book: AccountBook, account: string): readonly TokenFact[] {
  return [...book.tokens().values()].filter((token) => token.account === account)
}

/** A line each: the beginning of its SHA-256, when it was created, and whether it still works. */
export function formatTokens(tokens: readonly TokenFact[]): readonly string[] {
  return tokens.map(({ tokenHash, account, createdAt, revokedAt }) => {
    const end = revokedAt === undefined ? '' : `, revoked ${revokedAt}`
    return `sha256 ${tokenHash.slice(0, HASH_CHARACTERS)}…  ${account}  created ${createdAt}${end}`
  })
}

/** Prints a line for each token, of one account if it is given; tokens are told by the beginning of their hash. */
export async function listTokens(setting: Setting, account: string | undefined): Promise<void> {
  const book = await readAccountBook(setting)
  if (account !== undefined) knownAccount(book, checkedAccount(account))
  const lines = formatTokens(account === undefined ? [...book.tokens().values()] : tokensOf(book, account))
  setting.screen.print(lines.length === 0 ? 'There are no tokens.\n' : `${lines.join('\n')}\n`)
}
