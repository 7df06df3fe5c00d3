import type { EventLog } from '../../infra/ports/event-log.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { type UserStands, userStands } from '../../schemas/events/users.ts'
import { readRequired } from '../read-facts.ts'

/** What stands of all addresses, by what is asked for: the newest event of each. Of those of which nothing stands it has nothing. */
export class UserBook {
  readonly #byAddress = new Map<string, UserStands>()
  /** Addresses, by the hashes of codes that were sent to them. */
  readonly #byCode = new Map<string, string>()
  readonly #bySession = new Map<string, string>()
  readonly #accounts = new Set<string>()
  #keyId: string | undefined

  /** Fingerprint of the key that all of it was made with; undefined as long as there is nothing. */
  get keyId(): string | undefined {
    return this.#keyId
  }

  put(stands: UserStands): void {
    const before = this.#byAddress.get(stands.address)
    for (const code of codesOf(before)) this.#byCode.delete(code)
    for (const session of sessionsOf(before)) this.#bySession.delete(session)
    if (before?.user !== undefined) this.#accounts.delete(before.user.account)
    if (stands.user !== undefined) this.#accounts.add(stands.user.account)
    for (const code of codesOf(stands)) this.#byCode.set(code, stands.address)
    for (const session of sessionsOf(stands)) this.#bySession.set(session, stands.address)
    if (stands.user === undefined && stands.signUps.length === 0) this.#byAddress.delete(stands.address)
    else this.#byAddress.set(stands.address, stands)
    this.#keyId = stands.keyId
  }

  ofAddress(address: string): UserStands | undefined {
    return this.#byAddress.get(address)
  }

  ofCode(code: string): UserStands | undefined {
    return this.#byAddress.get(this.#byCode.get(code) ?? '')
  }

  /** Whether somebody has the account: of one that was closed there is nothing. */
  hasAccount(account: string): boolean {
    return this.#accounts.has(account)
  }

  ofSession(session: string): UserStands | undefined {
    return this.#byAddress.get(this.#bySession.get(session) ?? '')
  }

  all(): Iterable<UserStands> {
    return this.#byAddress.values()
  }
}

function codesOf(stands: UserStands | undefined): readonly string[] {
  return [
    ...(stands?.signUps ?? []).map(({ code }) => code.hash),
    ...(stands?.user?.resets ?? []).map(({ hash }) => hash),
  ]
}

function sessionsOf(stands: UserStands | undefined): readonly string[] {
  return (stands?.user?.sessions ?? []).map(({ hash }) => hash)
}

/**
 * What the log has of them. Throws AppError `undecodable` for an event that cannot be read, as of a later release: nothing may be decided
 * without it. What stood before it may be a password that was changed or an account that was closed, and would let somebody in.
 */
export async function readUserBook(eventLog: Pick<EventLog, 'read'>, signal: AbortSignal): Promise<UserBook> {
  const book = new UserBook()
  const read = (event: EncodedEvent) => decodeEvent(userStands, event)
  for await (const { event } of eventLog.read({ topic: 'users', signal })) book.put(readRequired(event, read))
  return book
}
