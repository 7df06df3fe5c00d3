import type { FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { PrefixParams } from '../../schemas/routes/route.ts'
import { toRefusals } from '../http/document.ts'

const JSON_TYPE = 'application/json'
const RESULT_TYPE = 'application/graphql-response+json'

const Query = Type.String({ description: 'One document; `{ __schema { types { name } } }` tells what can be asked.' })
const OperationName = Type.String({ description: 'Which operation of the document.' })

const Request = Type.Object({
  query: Query,
  operationName: Type.Optional(Type.Union([OperationName, Type.Null()])),
  variables: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
})

const Result = Type.Object({
  data: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
  errors: Type.Optional(
    Type.Array(
      Type.Object({
        message: Type.String(),
        extensions: Type.Optional(
          Type.Object({
            code: Type.Optional(Type.String({ description: 'A code of the envelope, where it is known.' })),
          }),
        ),
      }),
    ),
  ),
})

const response = {
  '200': {
    description: 'The result, or what is wrong with single fields',
    content: { [JSON_TYPE]: { schema: Result }, [RESULT_TYPE]: { schema: Result } },
  },
  ...toRefusals(['401', '403', '404', '500', '503']),
  '400': {
    description: 'A document that cannot be read, is not valid or costs too much',
    content: { [JSON_TYPE]: { schema: Result }, [RESULT_TYPE]: { schema: Result } },
  },
  '429': {
    description:
      'A document that asks of tokens, of a token that asks more often than it may: `Retry-After` says when to come back',
    content: { [JSON_TYPE]: { schema: Result } },
  },
}

/** How the OpenAPI document tells of GraphQL; its own schema tells the rest. */
export const GRAPHQL_SCHEMAS: Readonly<Record<'GET' | 'POST', FastifySchema>> = {
  GET: {
    operationId: 'queryGraphql',
    summary: 'A GraphQL query as parameters; a page to try queries on, for browsers',
    params: PrefixParams,
    querystring: Type.Object({
      query: Type.Optional(Query),
      operationName: Type.Optional(OperationName),
      variables: Type.Optional(Type.String({ description: 'JSON object.' })),
    }),
    response,
  },
  POST: {
    operationId: 'postGraphql',
    summary: 'A GraphQL query',
    params: PrefixParams,
    body: Request,
    response: {
      ...response,
      '415': { description: 'A body that is compressed', content: { [JSON_TYPE]: { schema: Result } } },
    },
  },
}
