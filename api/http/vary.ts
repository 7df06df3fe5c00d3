import type { FastifyReply } from 'fastify'

/** Says which headers of its question an answer depends on, beside what the rules for browsers have said. */
export function addVary(reply: FastifyReply, ...headers: readonly string[]): void {
  reply.header('vary', [reply.getHeader('vary') ?? [], ...headers].flat().join(', '))
}
