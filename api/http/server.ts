import { once } from 'node:events'
import { createServer } from 'node:net'
import { AppError } from '../../schemas/errors.ts'
import type { ApiParts } from './api-parts.ts'
import { buildApp } from './app.ts'

interface Address {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
}

export interface ApiOptions extends ApiParts, Address {}

export interface Api extends AsyncDisposable {
  /** Base address, without a slash at the end. */
  readonly url: string
}

/**
 * Listens for HTTP until disposed; disposal accepts nothing new and lets running requests finish.
 * Throws AppError `usage` when the address is taken, `config` when it cannot be listened on.
 */
export async function openApi(options: ApiOptions): Promise<Api> {
  const { host, port } = options
  const app = await buildApp(options)
  try {
    return { url: await app.listen({ host, port }), [Symbol.asyncDispose]: () => app.close() }
  } catch (error) {
    await app.close()
    throw listenFailure(error, options)
  }
}

/** Throws what `openApi` would of an address that cannot be listened on now. */
export async function refuseAddress({ host, port }: Address): Promise<void> {
  const server = createServer()
  try {
    server.listen({ host, port })
    await once(server, 'listening')
  } catch (error) {
    throw listenFailure(error, { host, port })
  }
  server.close()
  await once(server, 'close')
}

function listenFailure(error: unknown, { host, port }: Address): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return new AppError('usage', `Port ${port} is taken: stop the other program, or set PORT, for example 8081.`)
  }
  if (code === 'EACCES') {
    return new AppError('config', `PORT ${port} may not be listened on by this user, for example PORT=8080 may.`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new AppError(
      'config',
      `HOST is not an address of this machine: ${JSON.stringify(host)}; e.g. HOST=127.0.0.1.`,
    )
  }
  return error
}
