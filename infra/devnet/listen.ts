import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../schemas/errors.ts'

export interface Listener {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** "Beacon API" */
  readonly name: string
  /** The setting that has to change when the port is taken. */
  readonly portSetting: string
}

export interface Listening extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string
}

/** Has a server of the devnet listen, until it is disposed of. Throws AppError `config` for a port that it cannot have, and closes it then. */
export async function listenOn(server: FastifyInstance, listener: Listener): Promise<Listening> {
  const { host, port } = listener
  try {
    await server.listen({ host, port })
  } catch (cause) {
    await server.close()
    throw cannotListen(listener, cause)
  }
  const { port: taken } = server.server.address() as AddressInfo
  return { url: `http://${host}:${taken}`, [Symbol.asyncDispose]: () => server.close() }
}

export function cannotListen({ host, port, name, portSetting }: Listener, cause: unknown): AppError {
  const sentence = `the devnet's ${name} cannot listen on ${host}:${port}: choose another ${portSetting}`
  return new AppError('config', sentence, { cause })
}
