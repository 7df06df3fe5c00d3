import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { UnreadableBody } from './answer.ts'

export const COMPRESSED = 'the body is compressed: send it without Content-Encoding'

/** A refusal of its own kind, for families whose errors have another shape. */
export class CompressedBody extends UnreadableBody {
  constructor() {
    super(COMPRESSED)
  }
}

/** Whether a body has a coding that nobody here takes off: read as text it would be called malformed. */
export function isCompressed({ 'content-encoding': coding = '' }: IncomingHttpHeaders): boolean {
  return !['', 'identity'].includes(coding.trim().toLowerCase())
}

const BYTE_ORDER_MARK = '\ufeff'

/** The text of a body: a byte order mark before it, which some clients write, is none of it (RFC 8259, section 8.1). */
export function bodyText(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text
}

/** Reads bodies of all types as text. */
export function readBodiesAsText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>('*', { parseAs: 'string' }, ({ headers, bill }, body, done) => {
    if (headers['content-length'] === undefined) bill?.addRequestBytes(Buffer.byteLength(body))
    if (isCompressed(headers)) done(new CompressedBody())
    else done(null, bodyText(body))
  })
}

/**
 * Gives the handlers of a family the body as text, whatever its type says: a wrong or missing type must not refuse it. It is
 * for the family that calls it, within its own plugin: others take their bodies as they like.
 */
export function acceptTextOfAnyType(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    delete request.headers['content-type']
  })
  readBodiesAsText(app)
}
