import { AppError, type ErrorCode } from '../../schemas/errors.ts'
import { basicCredentials } from '../basic-credentials.ts'

// HTTP to servers that get secret keys, with nothing but what Node brings: the vault's process asks them. Their addresses may hold a
// secret, and their answers quote what they were asked: neither is in an error.

const ANSWER_BYTES_MAX = 256 * 1024

export interface RemoteQuestion {
  readonly method: 'GET' | 'POST'
  /** Below the server's address. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: object
  readonly timeoutMs: number
  readonly answerBytesMax?: number
}

export interface RemoteAnswer {
  readonly status: number
  readonly text: string
}

export interface RemoteServerOptions {
  /** With the path, user or query that leads to it, if any. */
  readonly url: string
  /** Begins the sentences of its errors. */
  readonly name: string
  readonly code: ErrorCode
  /** Sent with every question. */
  readonly bearerToken?: string
}

export class RemoteServer {
  readonly #options: RemoteServerOptions

  constructor(options: RemoteServerOptions) {
    this.#options = options
  }

  /** Throws AppError of the server's code, retryable, when it does not answer in time or answers too much. */
  async ask({ method, path, body, timeoutMs, answerBytesMax }: RemoteQuestion): Promise<RemoteAnswer> {
    const { url: base, bearerToken } = this.#options
    try {
      const url = urlOf(base, path)
      const response = await fetch(url.href, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...url.headers,
          ...(bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` }),
        },
        redirect: 'error', // where it leads is no server of ours
        signal: AbortSignal.timeout(timeoutMs),
      })
      return { status: response.status, text: await this.#textOf(response, answerBytesMax ?? ANSWER_BYTES_MAX) }
    } catch (error) {
      if (error instanceof AppError) throw error
      if (!(error instanceof Error)) throw error
      const late = error.name === 'TimeoutError'
      throw this.fault(late ? `it did not answer within ${timeoutMs / 1_000} s` : 'it cannot be reached')
    }
  }

  /** Without the cause, which names the address. */
  fault(reason: string): AppError {
    const { name, code } = this.#options
    return new AppError(code, `${name}: ${reason}.`, { retryable: true })
  }

  async #textOf({ body }: Response, bytesMax: number): Promise<string> {
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of body ?? []) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > bytesMax) throw this.fault('its answer is too long')
    }
    return Buffer.concat(pieces).toString()
  }
}

/** `fetch` takes no user in a URL: they go into a header. */
function urlOf(
  base: string,
  path: string,
): { readonly href: string; readonly headers: Readonly<Record<string, string>> } {
  const url = new URL(base)
  const hasUser = url.username !== '' || url.password !== ''
  const user = basicCredentials(url)
  url.username = ''
  url.password = ''
  url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`
  return { href: url.href, headers: hasUser ? { authorization: `Basic ${user}` } : {} }
}

/** Undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
