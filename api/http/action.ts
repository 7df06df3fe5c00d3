import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { StakingContract } from '../../schemas/eth/staking-transaction.ts'
import type { Refusal } from '../../schemas/routes/envelope.ts'
import type { AnyRoute, Route } from '../../schemas/routes/route.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import { sendRefusal } from './answer.ts'
import type { SharedParts } from './api-parts.ts'
import { openBudget } from './budget.ts'
import { chainOf, chainPath, standingOf } from './chain-path.ts'
import { documentRoute } from './document.ts'
import type { Answer } from './operation.ts'
import type { AccountScope } from './seen-validators.ts'

/** Who asks for something to be done, and through what it is done. */
export interface ActionScope extends AccountScope {
  /** Name of the path's chain, as in the tables. */
  readonly chain: string
  /** Beginning of the hash of the token that asks. */
  readonly actor: string
  readonly jobs: Pick<JobQueue, 'add' | 'result' | 'withdraw'>
  readonly nowMs: number
  /** Unix milliseconds on the machine, by which requests wait. */
  readonly wallNow: () => number
  readonly unfundedRules: UnfundedRules
  /** Configured for the chain: takes several deposits at once. */
  readonly stakingContract: StakingContract | undefined
}

type ActionHandler<Body, Envelope> = (
  asked: { readonly body: Body; readonly headers: IncomingHttpHeaders },
  scope: ActionScope,
) => Promise<Answer<Envelope> | Refusal>

/** A route that does something: its answers are never kept, and it does what it does by jobs. */
export interface Action {
  readonly route: AnyRoute
  readonly handle: ActionHandler<unknown, unknown>
}

export function action<Query extends TObject, Body extends TObject, Response extends TSchema>(
  route: Route<Query, Body, Response>,
  handle: ActionHandler<Static<Body>, Static<Response>>,
): Action {
  return {
    route,
    // Fastify has validated it with this very route's schema.
    handle: ({ body, headers }, scope) => handle({ body: body as Static<Body>, headers }, scope),
  }
}

/**
 * Serves actions at their paths behind the token, within the family's plugin: behind `serveOperations`, which has told the plugin how
 * parameters are read and how errors are answered.
 */
export function serveActions(app: FastifyInstance, actions: readonly Action[], parts: SharedParts): void {
  for (const { route, handle } of actions) {
    for (const [position, path] of route.paths.entries()) {
      app.route({
        method: route.method,
        url: chainPath(path),
        schema: documentRoute(route, position),
        config: route.scope === undefined ? {} : { scope: route.scope },
        handler: (request, reply) => act(request, reply, { route, handle }, parts),
      })
    }
  }
}

async function act(
  request: FastifyRequest,
  reply: FastifyReply,
  { handle }: Action,
  parts: SharedParts,
): Promise<FastifyReply> {
  const { body, headers, account, actor } = request
  const { jobs, now, wallNow, unfundedRules } = parts
  const { names, stakingContract } = chainOf(request)
  const scope = {
    chain: names.name,
    standing: standingOf(request),
    account,
    actor,
    shared: openBudget({ ...parts, account }),
    jobs,
    nowMs: now(),
    wallNow,
    unfundedRules,
    stakingContract,
  }
  const result = await handle({ body, headers }, scope)
  if (result.status === 'refused') return sendRefusal(reply, result)
  return reply.send(result.envelope)
}
