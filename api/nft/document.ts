import type { FastifySchema } from 'fastify'
import { type AnyNftRoute, NFT_FAILURES, type NftFailure, NftPathParams } from '../../schemas/routes/nft/nft-route.ts'
import { NFT_ERROR, toInput, UNDOCUMENTED } from '../http/document.ts'

const JSON_TYPE = 'application/json'
const TOLD: readonly NftFailure[] = [400, 401, 403, 404, 429, 500, 503]

/** What the document tells of a route; of its other paths and names nothing but that they are there. */
export function documentNftRoute(
  route: AnyNftRoute,
  { method, isDocumented }: { readonly method: 'GET' | 'POST'; readonly isDocumented: boolean },
): FastifySchema {
  if (!isDocumented) return UNDOCUMENTED
  const alias = route.names.length === 1 ? '' : ` \`${route.names.slice(1).join('`, `')}\` is the same.`
  const parameters = toInput(route.parameters)
  return {
    operationId: method === route.methods[0] ? route.id : `${route.id}ByBody`,
    summary: route.summary,
    description: `${route.description}${alias}`,
    params: NftPathParams,
    ...(method === 'GET' ? { querystring: { ...parameters, style: 'form', explode: false } } : { body: parameters }),
    response: {
      '200': {
        description: 'The answer, without an envelope',
        content: { [route.media ?? JSON_TYPE]: { schema: route.response, example: route.example } },
      },
      ...Object.fromEntries(
        [...TOLD, ...(route.failures ?? [])].map((code) => [
          String(code),
          {
            description: NFT_FAILURES[code],
            content: { [JSON_TYPE]: { schema: { $ref: `${NFT_ERROR.$id}#` } } },
          },
        ]),
      ),
    },
  }
}
