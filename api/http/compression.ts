import type { FastifyCompressOptions } from '@fastify/compress'
import type { FastifyInstance } from 'fastify'

/** Shorter answers gain nothing: they fit into a packet as they are. */
const COMPRESSED_BYTES_MIN = 1_024

/** For routes whose answers are compressed as the client accepts it. Other routes, a gateway's say, pass their bytes on as they are. */
export const COMPRESSION: Pick<FastifyCompressOptions, 'encodings' | 'threshold'> = {
  encodings: ['zstd', 'gzip'],
  threshold: COMPRESSED_BYTES_MIN,
}

const GZIP = ['gzip', 'x-gzip']

/** What `Accept-Encoding` says without a `*` that the library would take for gzip: it stands for codings that are not named beside it (RFC 9110, 12.5.3). */
function withoutFalseStar(accepted: string): string {
  const codings = accepted
    .split(',')
    .map((coding) => ({ coding, name: coding.split(';', 1)[0]?.trim().toLowerCase() ?? '' }))
  if (!codings.some(({ name }) => GZIP.includes(name))) return accepted
  return codings
    .filter(({ name }) => name !== '*')
    .map(({ coding }) => coding)
    .join(',')
}

/** Before any answer is compressed. */
export function readAcceptedCodings(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ headers }) => {
    const accepted = headers['accept-encoding']
    if (typeof accepted === 'string' && accepted.includes('*')) headers['accept-encoding'] = withoutFalseStar(accepted)
  })
}
