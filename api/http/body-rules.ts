import type { FastifyInstance } from 'fastify'

/**
 * Gives the handlers of a family the body as text, whatever its type says: a wrong or missing type must not refuse it. It is
 * for the family that calls it, within its own plugin: others take their bodies as they like.
 */
export function acceptTextOfAnyType(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    delete request.headers['content-type']
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
}
