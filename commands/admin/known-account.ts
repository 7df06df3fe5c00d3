import { nearestName } from '../../infra/config/mistakes.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'

// An account is there from its first token on, which is asked for with --new: so a slip in its name is not an account.

/** The name, if it is one of an account. Throws AppError `usage` for one that nobody has made, with the nearest name. */
export function knownAccount(book: AccountBook, account: string): string {
  const known = book.accounts()
  if (known.includes(account)) return account
  const meant = nearestName(account, known)
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  throw new AppError(
    'usage',
    `There is no account ${account}: nothing was changed.${hint} A new account begins with its first token: admin token create --account ${account} --new.`,
  )
}

/** Throws AppError `usage` for an account that is there already. */
export function refuseKnownAccount(book: AccountBook, account: string): void {
  if (!book.accounts().includes(account)) return
  throw new AppError('usage', `The account ${account} is there already: leave --new out for another token of it.`)
}
