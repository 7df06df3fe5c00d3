import { readFile } from 'node:fs/promises'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Compile } from 'typebox/schema'
import { expect, test } from 'vitest'
import { ACCOUNT_OPERATIONS } from '../../api/account/plugin.ts'
import { buildOpenApi } from '../../api/http/openapi.ts'
import { NFT_OPERATIONS } from '../../api/nft/plugin.ts'
import { QUOTES } from '../../api/quotes/plugin.ts'
import { REWARDS_OPERATIONS } from '../../api/rewards/plugin.ts'
import { VALIDATORS_ACTIONS, VALIDATORS_OPERATIONS } from '../../api/validators/plugin.ts'
import { ACCOUNT_PREFIX } from '../../schemas/routes/account/account-route.ts'
import { RESULTS } from '../../schemas/routes/envelope.ts'
import { type NFT_FAILURES, NFT_PATHS } from '../../schemas/routes/nft/nft-route.ts'
import { QUOTES_PREFIX } from '../../schemas/routes/quotes/quote-route.ts'
import { PREFIX } from '../../schemas/routes/route.ts'

interface DocumentedOperation {
  readonly operationId: string
  readonly description?: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[]
  readonly requestBody?: { readonly required: boolean }
  readonly responses: Readonly<Record<string, { readonly content: Record<string, Media> }>>
}

interface Media {
  readonly schema: unknown
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: { readonly code: string } }>>
}

const OPERATIONS = [...REWARDS_OPERATIONS, ...VALIDATORS_OPERATIONS, ...VALIDATORS_ACTIONS]
const document: unknown = JSON.parse(JSON.stringify(await buildOpenApi()))
const { paths } = document as { paths: Record<string, Record<string, DocumentedOperation>> }
const documented = Object.values(paths).flatMap((methods) => Object.values(methods))

test('the committed document is the one that the routes define: run `npm run openapi` after a change', async () => {
  const committed: unknown = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'))
  expect(document).toEqual(committed)
})

test('documents every path of every route, the probes, and nothing else, with distinct operation ids', () => {
  const expected = OPERATIONS.flatMap(({ route }) =>
    route.paths.map((path) => `${route.method.toLowerCase()} ${PREFIX}${path}`),
  )
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  const quotes = QUOTES.map(({ route }) => `get ${QUOTES_PREFIX}${route.path}`)
  const nfts = NFT_OPERATIONS.flatMap(({ route }) =>
    route.methods.map((method) => `${method.toLowerCase()} ${NFT_PATHS[0]}/${route.names[0]}`),
  )
  const ofAccounts = ACCOUNT_OPERATIONS.map(
    ({ route }) => `${route.method.toLowerCase()} ${ACCOUNT_PREFIX}${route.path}`,
  )
  const others = [
    'get /health',
    'get /ready',
    'get /statement-key.pem',
    `get ${PREFIX}/graphql`,
    `post ${PREFIX}/graphql`,
  ]
  expect(found.sort()).toEqual([...others, ...quotes, ...nfts, ...ofAccounts, ...expected].sort())
  expect(new Set(documented.map(({ operationId }) => operationId)).size).toBe(documented.length)
})

test('satisfies a strict linter', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: 'openapi.json', config })
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
})

test('gives the example of each route, and one of each refusal under its status', () => {
  for (const { route } of OPERATIONS) {
    for (const path of route.paths) {
      const responses = paths[`${PREFIX}${path}`]?.[route.method.toLowerCase()]?.responses ?? {}
      expect(responses['200']?.content['application/json']?.example, path).toEqual(route.example)
      for (const code of [...route.refusals, '401', '404', '500'] as const) {
        const media = responses[String(RESULTS[code].httpStatus)]?.content['application/json']
        expect(media?.schema, path).toEqual({ $ref: '#/components/schemas/ErrorEnvelope' })
        expect(media?.examples?.[code]?.value, path).toEqual({ code, msg: RESULTS[code].text, data: null })
      }
    }
  }
  expect(document).toHaveProperty(['components', 'schemas', 'ErrorEnvelope', 'properties', 'code'])
})

test('gives the example of each NFT operation, and the shape of its refusals', () => {
  for (const { route } of NFT_OPERATIONS) {
    const method = route.methods[0]?.toLowerCase() ?? ''
    const responses = paths[`${NFT_PATHS[0]}/${route.names[0]}`]?.[method]?.responses ?? {}
    expect(responses['200']?.content[route.media ?? 'application/json']?.example, route.id).toEqual(route.example)
    for (const code of [400, 401, 404, 500, 503] satisfies (keyof typeof NFT_FAILURES)[])
      expect(responses[code]?.content['application/json']?.schema, route.id).toEqual({
        $ref: '#/components/schemas/NftError',
      })
  }
})

/** Quotes have no path parameters. */
const QUOTES_ASK_FOR: Readonly<Record<string, readonly string[]>> = {
  getStakeQuote: ['address', 'amount'],
  getUnstakeQuote: ['address', 'pubkeys'],
  getQuoteRoutes: [],
  getAddressBalance: ['address'],
  getAddressValidators: ['address'],
}

/** In the query, beside what stands in the path. */
const ASKS_FOR: Readonly<Record<string, readonly string[]>> = {
  getValidatorHistory: ['pubkey'],
  getValidatorRewards: ['pubkey'],
  getValidatorProof: ['date', 'pubkey'],
  getStatement: ['month'],
}

test('asks for what stands in the path, for what nobody can do without, and for nothing that has a default', () => {
  for (const { operationId, parameters = [] } of documented.filter(({ parameters }) => parameters !== undefined)) {
    const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
    const quote = QUOTES.find(({ route }) => route.id === operationId)
    const nft = NFT_OPERATIONS.find(({ route }) => operationId.replace(/ByBody$/, '') === route.id)
    const ofAccount = ACCOUNT_OPERATIONS.find(({ route }) => route.id === operationId)
    if (ofAccount !== undefined) {
      expect(required, operationId).toEqual(ofAccount.route.path.match(/(?<=\{)\w+/g) ?? [])
      continue
    }
    if (nft !== undefined) {
      const isBody = operationId.endsWith('ByBody') || nft.route.methods[0] === 'POST'
      const { properties, required: all = [] } = nft.route.parameters
      const named = isBody ? [] : all
      const withoutDefault = named.filter((name) => !('default' in (properties[name] ?? {})))
      expect(required.sort(), operationId).toEqual([...withoutDefault, 'chain', 'token'].sort())
      continue
    }
    const asked = [...(ASKS_FOR[operationId] ?? []), 'network', 'protocol', 'token'].sort()
    expect(required.sort(), operationId).toEqual(quote === undefined ? asked : QUOTES_ASK_FOR[operationId])
  }
  const bodies = documented.flatMap(({ operationId, requestBody }) =>
    requestBody === undefined ? [] : [[operationId, requestBody.required]],
  )
  expect(Object.fromEntries(bodies)).toEqual({
    broadcastStaking: true,
    cancelExits: true,
    closeAccount: true,
    createKey: false,
    createValidators: true,
    getAssetsTransferByBody: false,
    getContractMetadataBatchByBody: true,
    getNFTMetadataBatchByBody: true,
    exitValidators: true,
    labelValidators: true,
    placeOrder: true,
    logIn: true,
    requestPasswordReset: true,
    resetPassword: true,
    signUp: true,
    verifyEmail: true,
    getValidatorDetails: false,
    postGraphql: true,
    refreshNFTMetadata: true,
  })
})

test('every example has the shape of its route', () => {
  for (const { route } of [...OPERATIONS, ...QUOTES, ...NFT_OPERATIONS, ...ACCOUNT_OPERATIONS])
    expect(Compile(route.response).Errors(route.example), route.id).toEqual([true, []])
})
