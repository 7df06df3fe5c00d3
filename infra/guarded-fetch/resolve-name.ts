import { Resolver } from 'node:dns/promises'

/** An address that a name resolves to. */
export interface Resolved {
  readonly address: string
  readonly family: number
}

export interface NameResolverOptions {
  /** Addresses of name servers, as `address` or `address:port`; those of the system unless told. */
  readonly servers?: readonly string[]
  /** Of the first question to a server; twice as long for each further one. */
  readonly timeoutMs?: number
}

/** A name that its servers do not answer for holds a question and no thread: with those of the pool all names and files of the process would wait. */
const QUESTION_TIMEOUT_MS = 2_500
const TRIES = 2
/** This machine (RFC 6761, section 6.3): no name server is asked for it. */
const LOCALHOST = /(?:^|\.)localhost\.?$/i
const LOOPBACK: readonly Resolved[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * All addresses of a name, by questions to name servers alone: neither the system's own names (`/etc/hosts`) nor its search domains count.
 * Rejects where the name has none, and where no server answers in time, with the code of `node:dns`.
 */
export async function resolveName(
  host: string,
  { servers, timeoutMs = QUESTION_TIMEOUT_MS }: NameResolverOptions = {},
): Promise<readonly Resolved[]> {
  if (LOCALHOST.test(host)) return LOOPBACK
  // One for each name: it knows the system's name servers as they are now.
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
  return [...addressesOf(v4, 4), ...addressesOf(v6, 6)]
}

function addressesOf(answer: PromiseSettledResult<readonly string[]>, family: number): readonly Resolved[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []
}
