import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AnswerSink } from './exchange.ts'
import type { PlainRequest } from './plain/plain-request.ts'

/** What a client asks over HTTP: as Node has read it, or whole already. */
export type ClientRequest = IncomingMessage | PlainRequest

/** What it is answered by. */
export interface ClientResponse extends AnswerSink, Pick<ServerResponse, 'headersSent' | 'shouldKeepAlive'> {
  setHeader(name: string, value: string): unknown
}
