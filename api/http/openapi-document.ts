import type { TObject, TSchema } from 'typebox'
import { ErrorEnvelope, formatMessage, RESULTS, type RefusalCode } from '../../schemas/routes/envelope.ts'
import { HealthAnswer, ReadyAnswer } from '../../schemas/routes/probes.ts'
import { type AnyRoute, PREFIX, PrefixParams } from '../../schemas/routes/route.ts'
import { OPERATIONS } from '../operations.ts'

type Json = { readonly [member: string]: unknown }

const JSON_TYPE = 'application/json'

/** The OpenAPI 3.1 document of every route, built from their definitions. */
export function buildOpenApi(): Json {
  const paths: Record<string, Json> = {}
  for (const { route } of OPERATIONS) {
    for (const [position, path] of route.paths.entries()) {
      paths[`${PREFIX}${path}`] = { [route.method.toLowerCase()]: toOperation(route, position) }
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'epochline',
      version: 'v1',
      description:
        'Rewards and state of the validators of the account behind an access token. Amounts are exact decimal text, dates are ' +
        'UTC+8. Unknown query parameters and body members are ignored. The same account answers GraphQL at ' +
        `\`${PREFIX}/graphql\`.`,
    },
    paths: { ...paths, ...probePaths() },
    components: { schemas: { ErrorEnvelope } },
  }
}

function toOperation(route: AnyRoute, position: number): Json {
  const canonical = route.paths[0]
  return {
    operationId: position === 0 ? route.id : `${route.id}Alias${position}`,
    summary: route.summary,
    description: position === 0 ? route.description : `The same as \`${canonical}\`.`,
    parameters: [...toParameters(PrefixParams, 'path'), ...toParameters(route.query, 'query')],
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: false, content: { [JSON_TYPE]: { schema: toInput(route.body) } } } }),
    responses: {
      '200': {
        description: RESULTS['200'].text,
        content: { [JSON_TYPE]: { schema: route.response, example: route.example } },
      },
      ...toRefusals([...route.refusals, '401', '404', '500']),
    },
  }
}

function toParameters(schema: TObject, place: 'path' | 'query'): Json[] {
  return Object.entries<TSchema>(schema.properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || isRequired(schema, name),
    schema: property,
    ...('type' in property && property.type === 'array' ? { style: 'form', explode: false } : {}),
  }))
}

/** The schema as the caller sees it: what has a default may be left out. */
function toInput(schema: TObject): Json {
  const required = Object.keys(schema.properties).filter((name) => isRequired(schema, name))
  const { required: _, ...rest } = schema
  return required.length === 0 ? rest : { ...rest, required }
}

function isRequired(schema: TObject, name: string): boolean {
  const property: TSchema | undefined = schema.properties[name]
  return property !== undefined && !('default' in property) && (schema.required?.includes(name) ?? false)
}

/** Codes that share an HTTP status are examples of one response. */
function toRefusals(codes: readonly RefusalCode[]): Json {
  const byStatus = Object.groupBy(codes, (code) => String(RESULTS[code].httpStatus))
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, group = []]) => [
      status,
      {
        description: group.map((code) => `${code} ${RESULTS[code].text}`).join('; '),
        content: {
          [JSON_TYPE]: {
            schema: { $ref: '#/components/schemas/ErrorEnvelope' },
            examples: Object.fromEntries(
              group.map((code) => [code, { value: { code, msg: formatMessage(code), data: null } }]),
            ),
          },
        },
      },
    ]),
  )
}

function probePaths(): Json {
  const answer = (description: string, schema: TSchema) => ({ description, content: { [JSON_TYPE]: { schema } } })
  return {
    '/health': {
      get: {
        operationId: 'getHealth',
        summary: 'The process answers',
        responses: { '200': answer('Alive', HealthAnswer) },
      },
    },
    '/ready': {
      get: {
        operationId: 'getReady',
        summary: 'How far the pipeline has come',
        responses: { '200': answer('Ready', ReadyAnswer), '503': answer('Not ready', ReadyAnswer) },
      },
    },
  }
}
