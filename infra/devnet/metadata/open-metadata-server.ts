import fastify from 'fastify'
import { type Listening, listenOn } from '../listen.ts'
import { type Collection, collectionOf, contractDocument, pictureOf, tokenDocument, tokenIdOf } from './documents.ts'

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
}): Promise<Listening> {
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
  const name = 'server for documents of tokens'
  const listening = await listenOn(server, { host, port, name, portSetting: 'DEVNET_METADATA_PORT' })
  url = listening.url
  return listening
}
