/** A question to a server that a stranger has named. */
export interface PublicRequest {
  /** Absolute; without a user and a password in it. */
  readonly url: string
  readonly method: 'GET' | 'HEAD' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Of the answer's body, unpacked; a longer one is none. */
  readonly bytesMax: number
  /** From the call to the last byte, redirects included. */
  readonly timeoutMs: number
  /** How often a GET or HEAD may be sent on; a POST never is. */
  readonly redirectsMax: number
  /** Whether http may be asked, too, which anybody on the way can read and change; never for a POST. */
  readonly plainHttp?: boolean
  /** Content types (lower-case, without parameters) whose body is read; without it all are. */
  readonly types?: RegExp
}

/** What a refusal is for. */
export type RefusalKind =
  /** The URL, or where it was sent on to, is not asked by anybody here. */
  | 'url'
  | 'address'
  | 'redirects'
  /** The answer is not read to its end. */
  | 'size'
  | 'type'

/** Expected ends. Sentences name no URL: it may hold a secret. */
export type PublicAnswer =
  | { readonly status: 'answered'; readonly httpStatus: number; readonly type: string; readonly body: Uint8Array }
  /** It was not asked, or not to the end, and will not be the next time either. */
  | { readonly status: 'refused'; readonly kind: RefusalKind; readonly reason: string }
  /** No answer: the next time there may be one. */
  | { readonly status: 'failed'; readonly isLate: boolean; readonly reason: string }

/**
 * HTTP to servers that strangers name: where a webhook is delivered, where a token's document lies.
 *
 * Guarantees: only public addresses are connected to, whatever a name resolves to at whatever time, and at each redirect anew; no proxy
 * is used; an answer has at most so many bytes and takes at most so long. Never rejects for what a server does.
 * Not the implementer's job: trying again.
 */
export interface PublicFetch {
  fetch(request: PublicRequest): Promise<PublicAnswer>
}
