import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { AppError } from '../../schemas/errors.ts'
import { hashToken, tokenCreated, tokenRevoked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import type { Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount } from './account-facts.ts'

const TOKEN_BYTES = 24

/** Creates a token for the account and prints it; the log keeps its hash only. */
export async function createToken(setting: Setting, account: string): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const tokenHash = hashToken(token)
  const data = { account: checkedAccount(account), tokenHash }
  await addAccountFacts(setting, (_, envelope) => ({
    facts: [encodeEvent(tokenCreated, { ...envelope, id: `account.token-created:${tokenHash}`, data })],
    said: `${token}\n`,
  }))
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
  await addAccountFacts(setting, (book, envelope) => {
    if (!book.tokens().has(tokenHash))
      throw new AppError('usage', 'No such token was ever created here: nothing was revoked.')
    const id = `account.token-revoked:${tokenHash}`
    return { facts: [encodeEvent(tokenRevoked, { ...envelope, id, data: { tokenHash } })] }
  })
}
