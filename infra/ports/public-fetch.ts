/** A question to a server that a stranger has named. */
export interface PublicRequest {
  /** Absolute; without a user and a password in it. */
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Of the answer's body; a longer one is none. */
  readonly bytesMax: number
  /** From the call to the last byte, redirects included. */
  readonly timeoutMs: number
  /** How often a GET may be sent on; a POST never is. */
  readonly redirectsMax: number
}

/** Expected ends. Sentences name no URL: it may hold a secret. */
export type PublicAnswer =
  | { readonly status: 'answered'; readonly httpStatus: number; readonly type: string; readonly body: Uint8Array }
  /** It was not asked, or not to the end, and will not be the next time either. */
  | { readonly status: 'refused'; readonly reason: string }
  /** No answer: the next time there may be one. */
  | { readonly status: 'failed'; readonly reason: string }

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
