import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { TObject } from 'typebox'
import { ACCOUNT_PREFIX, type AnyAccountRoute, OWN_PAGE_HEADER } from '../../schemas/routes/account/account-route.ts'
import { RESULTS, type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { envelopeErrors, sendRefusal } from '../http/answer.ts'
import type { SharedParts } from '../http/api-parts.ts'
import { SESSION_SCHEME, toInput, toRefusals } from '../http/document.ts'
import { compileParameters } from '../http/parse-parameters.ts'
import { type AccountOperation, Accounts, askerOf, TooManyTries } from './account.ts'
import { notLoggedIn } from './answers.ts'
import { CLIENT_LIMIT, SESSION_LIMIT } from './attempts.ts'
import { setSession } from './session-cookie.ts'

/** Whoever runs it learns what is lacking, and a person that it is nothing that they could do. */
const NO_ACCOUNTS =
  'nobody can sign up or log in here: for that the operator names a mail server or a folder for mails (`mail` in epochline.yaml, and the key for accounts)'

/** Serves operations on people's accounts, within the family's plugin: 404 where none are configured. */
export function serveAccount(app: FastifyInstance, operations: readonly AccountOperation[], parts: SharedParts): void {
  const accounts = parts.account === undefined ? undefined : new Accounts(parts, parts.account)
  app.setErrorHandler(accountErrors(parts))
  app.setValidatorCompiler<TObject>(compileParameters)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    if (accounts === undefined) return sendRefusal(reply, refuse('404', NO_ACCOUNTS, 'no_accounts'))
    const refusal = crossSiteRefusal(request)
    if (refusal !== undefined) return sendRefusal(reply, refusal)
  })
  for (const { route, handle } of operations) {
    app.route({
      method: route.method,
      url: `${ACCOUNT_PREFIX}${route.path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      schema: documentAccountRoute(route),
      handler: async (request, reply) => {
        if (accounts === undefined) throw new Error('the routes of accounts are there where they are configured')
        return answerAsked(request, reply, { route, handle }, accounts)
      },
    })
  }
}

async function answerAsked(
  request: FastifyRequest,
  reply: FastifyReply,
  { route, handle }: AccountOperation,
  accounts: Accounts,
): Promise<FastifyReply> {
  const { client, session = '' } = askerOf(request, accounts.parts.addresses)
  if (route.ofSession && session === '') return sendRefusal(reply, notLoggedIn())
  await accounts.count(route.ofSession ? SESSION_LIMIT : CLIENT_LIMIT, client)
  const { params, query, body, headers } = request
  const result = await handle({ params, query, body, headers, session }, accounts)
  if (result.status === 'refused') return sendRefusal(reply, result)
  const isPlain = accounts.isLoopback && request.protocol === 'http'
  if (result.session !== undefined) setSession(reply, result.session, isPlain)
  return reply.send(result.envelope)
}

/** A page of somebody else can make a browser send its cookie with a form, but neither another header nor our own origin. */
function crossSiteRefusal({ method, headers, host }: FastifyRequest): Refusal | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined
  if (headers[OWN_PAGE_HEADER] === undefined)
    return refuse('400', `the header ${OWN_PAGE_HEADER} is missing`, 'cross_site')
  const { origin } = headers
  if (origin === undefined || URL.parse(origin)?.host === host) return undefined
  return refuse('400', 'the request comes from a page of another host', 'cross_site')
}

function accountErrors({ log }: Pick<SharedParts, 'log'>) {
  const envelope = envelopeErrors(log)
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (!(error instanceof TooManyTries)) return envelope(error, request, reply)
    reply.header('retry-after', error.seconds)
    return sendRefusal(reply, refuse('429', `try again in ${error.seconds} s`, 'too_many_requests'))
  }
}

function documentAccountRoute(route: AnyAccountRoute): FastifySchema {
  const own = route.method === 'GET' ? '' : ` Asks for the header \`${OWN_PAGE_HEADER}\`, with any value.`
  return {
    operationId: route.id,
    summary: route.summary,
    description: `${route.description}${own}`,
    ...(route.ofSession ? { security: [{ [SESSION_SCHEME]: [] }] } : {}),
    ...(route.params === undefined ? {} : { params: route.params }),
    // Lists are `k=1,2`.
    ...(route.query === undefined ? {} : { querystring: { ...toInput(route.query), style: 'form', explode: false } }),
    ...(route.headers === undefined ? {} : { headers: route.headers }),
    ...(route.body === undefined ? {} : { body: toInput(route.body) }),
    response: {
      '200': {
        description: RESULTS['200'].text,
        content: { 'application/json': { schema: route.response, example: route.example } },
      },
      ...toRefusals([...route.refusals, '404', '500', '503']),
    },
  }
}
