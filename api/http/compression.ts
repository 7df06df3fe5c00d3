import type { FastifyCompressOptions } from '@fastify/compress'

/** Shorter answers gain nothing: they fit into a packet as they are. */
const COMPRESSED_BYTES_MIN = 1_024

/** For routes whose answers are compressed as the client accepts it. Other routes, a gateway's say, pass their bytes on as they are. */
export const COMPRESSION: Pick<FastifyCompressOptions, 'encodings' | 'threshold'> = {
  encodings: ['zstd', 'gzip'],
  threshold: COMPRESSED_BYTES_MIN,
}
