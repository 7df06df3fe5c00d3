import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifySchema } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import { TOKEN_FAMILIES, TOKEN_SCOPES } from '../../schemas/access-token.ts'
import { ACCOUNT_PREFIX, SESSION_COOKIE } from '../../schemas/routes/account/account-route.ts'
import { ErrorEnvelope, formatMessage, RESULTS, type RefusalCode } from '../../schemas/routes/envelope.ts'
import { NftError } from '../../schemas/routes/nft/nft-route.ts'
import { HealthAnswer, ReadyAnswer } from '../../schemas/routes/probes.ts'
import { type AnyRoute, CSV_MEDIA_TYPE, PREFIX, PrefixParams, TAX_MEDIA_TYPE } from '../../schemas/routes/route.ts'
import { columnsOf } from './csv.ts'

type Json = { readonly [member: string]: unknown }

const JSON_TYPE = 'application/json'

/** The envelope of refusals by name, so that the document has it once. */
export const ERROR_ENVELOPE = { ...ErrorEnvelope, $id: 'ErrorEnvelope' }
export const NFT_ERROR = { ...NftError, $id: 'NftError' }

/** By which the document names the cookie of people's accounts. */
export const SESSION_SCHEME = 'session'

/** How @fastify/swagger writes the document: from the schemas of the routes, each of them by `documentRoute`. */
export const DOCUMENT_OPTIONS: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'epochline',
      version: 'v1',
      description:
        'Rewards and state of the validators of the account behind an access token. Amounts are exact decimal text, dates are ' +
        'UTC+8. Query parameters and body members that look like no known name are ignored, those that do are refused (400); null, an empty text and an empty parameter are absent ones. ' +
        `An empty parameter below \`${ACCOUNT_PREFIX}\` is refused (400). The same account answers GraphQL at ` +
        `\`${PREFIX}/graphql\`. A chain without validators has none of these paths. A token has scopes (\`${TOKEN_SCOPES.join('`, `')}\`; ` +
        `what says nothing else asks for \`read\`), and may be for some of the families \`${TOKEN_FAMILIES.join('`, `')}\` or for one ` +
        'chain only: 401 says what it lacks.',
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:8080', description: 'Where the program listens unless it is told otherwise.' }],
    // The token in the path authenticates; there is no scheme beside it.
    security: [],
    components: {
      securitySchemes: {
        [SESSION_SCHEME]: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description: 'Set by `POST /account/v1/log-in`.',
        },
      },
    },
  },
  // OpenAPI 3.1 has `const`.
  convertConstToEnum: false,
  refResolver: {
    buildLocalReference: (json, _baseUri, _fragment, i) => (typeof json.$id === 'string' ? json.$id : `def-${i}`),
  },
  transformObject: (document) => {
    if (!('openapiObject' in document)) return document.swaggerObject
    const { openapiObject } = document
    for (const path of Object.values(openapiObject.paths ?? {})) {
      const body = path?.post?.requestBody
      // The plugin calls every body required, and ours may be left out where each member may be.
      if (body !== undefined && 'content' in body && mayBeLeftOut(body.content[JSON_TYPE]?.schema))
        body.required = false
    }
    return openapiObject
  },
}

function mayBeLeftOut(schema: object | undefined): boolean {
  return schema !== undefined && !('required' in schema)
}

/** What Fastify validates requests of a route with, and documents it by, at one of its paths. */
export function documentRoute(route: AnyRoute, position: number): FastifySchema {
  return {
    operationId: position === 0 ? route.id : `${route.id}Alias${position}`,
    summary: route.summary,
    description: position === 0 ? `${route.description}${scopeText(route)}` : `The same as \`${route.paths[0]}\`.`,
    params: PrefixParams,
    // Lists are `k=1,2`; the style means nothing for other parameters.
    querystring: { ...toInput(route.query), style: 'form', explode: false },
    ...(route.headers === undefined ? {} : { headers: route.headers }),
    ...(route.body === undefined ? {} : { body: toInput(route.body) }),
    response: {
      '200': {
        description: RESULTS['200'].text,
        ...(hasCompleteness(route) ? { headers: COMPLETENESS_HEADER } : {}),
        content: {
          [JSON_TYPE]: { schema: route.response, example: route.example },
          ...csvContent(route),
        },
      },
      ...toRefusals([...route.refusals, '401', '403', '404', '429', '500', '503']),
    },
  }
}

/** @fastify/swagger makes the header's schema of it. */
const COMPLETENESS_HEADER = {
  'x-completeness': {
    type: 'string',
    description:
      'Of CSV: what its figures cover, as the structured field `state=…, final_through="…", not_final_from="…"`.',
  },
}

function hasCompleteness({ csv, response }: AnyRoute): boolean {
  return csv !== undefined && 'properties' in response && 'completeness' in (response as TObject).properties
}

/** Forms of an answer as a table. */
function csvContent({ csv }: AnyRoute): Json {
  if (csv === undefined) return {}
  const columns = columnsOf(csv.row).map((path) => path.join('.'))
  const description = `All items (RFC 4180): with \`page\`, \`limit\` or \`cursor\` it is refused. Columns: \`${columns.join('`, `')}\`.`
  return {
    [CSV_MEDIA_TYPE]: { schema: { type: 'string', description } },
    ...(csv.hasTaxForm === true
      ? { [TAX_MEDIA_TYPE]: { schema: { type: 'string', description: TAX_DESCRIPTION } } }
      : {}),
  }
}

const TAX_DESCRIPTION =
  'The same income in the simple template of Koinly: `Koinly Date` (UTC), `Amount` (negative for a loss), `Currency`, `Label`, `Description`.'

/** Reading is what every token could do before there were scopes: it is told once, for all. */
function scopeText({ scope = 'read' }: AnyRoute): string {
  return scope === 'read' ? '' : ` Asks for a token with the scope \`${scope}\`.`
}

/** The schema as the caller sees it: what has a default may be left out. */
export function toInput({ required, ...schema }: TObject): Json {
  const hasDefault = (name: string) => 'default' in (schema.properties[name] ?? {})
  const asked = (required ?? []).filter((name) => !hasDefault(name))
  return asked.length === 0 ? schema : { ...schema, required: asked }
}

/** Codes that share an HTTP status are examples of one response. */
export function toRefusals(codes: readonly RefusalCode[]): Json {
  const byStatus = Object.groupBy(codes, (code) => String(RESULTS[code].httpStatus))
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, group = []]) => [
      status,
      {
        description: group.map((code) => `${code} ${RESULTS[code].text}`).join('; '),
        content: {
          [JSON_TYPE]: {
            schema: { $ref: `${ERROR_ENVELOPE.$id}#` },
            examples: Object.fromEntries(
              group.map((code) => [code, { value: { code, msg: formatMessage(code), data: null } }]),
            ),
          },
        },
      },
    ]),
  )
}

const answerOf = (description: string, schema: TSchema) => ({ description, content: { [JSON_TYPE]: { schema } } })

export const HEALTH_SCHEMA: FastifySchema = {
  operationId: 'getHealth',
  summary: 'The process answers',
  response: { '200': answerOf('Alive', HealthAnswer), ...toRefusals(['400']) },
}

export const READY_SCHEMA: FastifySchema = {
  operationId: 'getReady',
  summary: 'How far the pipeline has come',
  response: {
    '200': answerOf('Ready', ReadyAnswer),
    '503': answerOf('Not ready', ReadyAnswer),
    ...toRefusals(['400']),
  },
}

/** What servers call text of RFC 7468. */
export const PEM_TYPE = 'application/x-pem-file'

export const STATEMENT_KEY_SCHEMA: FastifySchema = {
  operationId: 'getStatementKey',
  summary: 'The key that monthly statements are signed with',
  response: {
    '200': {
      description: 'Public key of Ed25519 as PEM (RFC 8410)',
      content: { [PEM_TYPE]: { schema: { type: 'string' } } },
    },
    ...toRefusals(['400', '404', '500']),
  },
}

/** For routes that the document leaves out. */
export const UNDOCUMENTED: FastifySchema = { hide: true }
