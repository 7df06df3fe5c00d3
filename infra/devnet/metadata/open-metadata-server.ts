import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { AppError } from '../../../schemas/errors.ts'
import { type Collection, collectionOf, contractDocument, pictureOf, tokenDocument, tokenIdOf } from './documents.ts'

export interface MetadataServer extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string
}

interface Asked {
  Params: { readonly profile: string; readonly collection: string; readonly id: string; readonly extension: string }
  Querystring: { readonly edition?: string }
}

const COLLECTION = '/:profile/:collection'
const EDITION = /^[0-9]{1,20}\.[0-9]{1,20}$/

/** Serves documents and pictures of the devnet's collections. Port 0 takes a free one. Throws AppError `config` for a taken one. */
export async function openMetadataServer({
  host,
  port,
}: {
  readonly host: string
  readonly port: number
}): Promise<MetadataServer> {
  const server = fastify({ forceCloseConnections: true })
  let url = ''
  const here = ({ profile, name }: Collection) => `${url}/${profile}/${name.toLowerCase()}/`

  server.get<Asked>(`${COLLECTION}/contract`, ({ params }, reply) => {
    const collection = collectionOf(params.profile, params.collection)
    if (collection === undefined) return reply.callNotFound()
    return reply.type('application/json').send(contractDocument(collection, here(collection)))
  })
  server.get<Asked>(`${COLLECTION}/:id`, ({ params, query }, reply) => {
    const collection = collectionOf(params.profile, params.collection)
    const id = tokenIdOf(params.id)
    if (collection === undefined || id === undefined) return reply.callNotFound()
    const edition = EDITION.test(query.edition ?? '') ? query.edition : undefined
    return reply.type('application/json').send(tokenDocument(collection, id, here(collection), edition))
  })
  server.get<Asked>(`${COLLECTION}/:id/image.:extension`, ({ params }, reply) => {
    const collection = collectionOf(params.profile, params.collection)
    const id = tokenIdOf(params.id)
    const picture =
      collection === undefined || id === undefined ? undefined : pictureOf(collection, id, params.extension)
    return picture === undefined ? reply.callNotFound() : reply.type(picture.type).send(picture.bytes)
  })
  try {
    await server.listen({ host, port })
  } catch (cause) {
    await server.close()
    throw new AppError(
      'config',
      `the devnet's documents of tokens cannot be served on ${host}:${port}: choose another DEVNET_METADATA_PORT`,
      { cause },
    )
  }
  url = `http://${host}:${(server.server.address() as AddressInfo).port}`
  return {
    url,
    async [Symbol.asyncDispose]() {
      await server.close()
    },
  }
}
