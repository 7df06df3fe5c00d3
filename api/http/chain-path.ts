import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  TOKEN_HASH_CHARACTERS,
  type TokenFamily,
  type TokenLimits,
  type TokenScope,
} from '../../schemas/access-token.ts'
import type { ChainNames } from '../../schemas/chains.ts'
import type { StakingContract } from '../../schemas/eth/staking-transaction.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { PREFIX } from '../../schemas/routes/route.ts'
import type { ClientAddresses } from '../gateway/client-address.ts'
import type { Meter } from '../gateway/meter.ts'
import { foreignClient, notAllowedWords } from './allowed-use.ts'
import { sendRefusal } from './answer.ts'
import { within } from './bounded-reader.ts'
import { LOOK_MS_MAX, type Standing, type Standings } from './standings.ts'
import { takeRequest } from './take-request.ts'

/** A chain that is served. */
export interface ApiChain {
  readonly names: ChainNames
  /** Whether it has validators; an execution chain alone has none, and no paths that tell of them. */
  readonly hasBeacon: boolean
  /** Takes the deposits of several validators at once; undefined = one at a time, by the deposit contract. */
  readonly stakingContract?: StakingContract | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a token has to be for at this path, `read` unless told. */
    scope?: TokenScope
  }
  interface FastifyRequest {
    /** The chain of the path; undefined outside the paths of a chain. */
    chain: ApiChain | undefined
    /** The account behind the token; empty outside the token's paths. */
    account: string
    /** Beginning of the token's hash, as operators know it; empty outside the token's paths. */
    actor: string
    /** Hash of the token, hex; empty likewise. */
    tokenHash: string
    /** How the chain's tables stood when the request came; undefined outside the token's paths, and at those of NFTs. */
    standing: Standing | undefined
  }
}

export interface ChainPathOptions {
  /** Without one nothing is limited. */
  readonly meter?: Meter | undefined
  readonly standings: Standings
  readonly addresses: ClientAddresses
  /** Asked at each request: chains come and go while the API listens. */
  readonly chains: () => readonly ApiChain[]
  /** Whether a token that is not in the tables is none: waits for facts that are on their way. */
  readonly accountsKnown: () => Promise<boolean>
  /** Whether figures of the tables are those of the whole log. */
  readonly tablesWhole: () => Promise<boolean>
  /** The family whose paths these are: a token may be for others alone. */
  readonly family: TokenFamily
  /** Whether the family has anything of a chain. */
  readonly serves: (chain: ApiChain) => boolean
}

/** What is answered while the log is being read into tables that were made anew. */
const BEING_FILLED = 'the tables are being filled from the log'

/** What is answered where a chain is asked for them. */
export const NO_VALIDATORS = 'the chain has no validators'

/** A path behind `/{protocol}/{network}/{token}`, as the router takes it. */
export function chainPath(path: string): string {
  return `${PREFIX.replaceAll(/\{(\w+)\}/g, ':$1')}${path}`
}

/**
 * Adds what requests at paths of `chainPath` go through: the chain is found (404), then the token (401, or 503 while the tables
 * lack accounts), which has to be for this scope, family and chain (401), and for who asks (403); while the tables are being filled from the log, 503. Then
 * the request is taken of what the account may ask (429).
 */
export function requireChainAndAccount(app: FastifyInstance, options: ChainPathOptions): void {
  // Before the body is read: an unknown token learns nothing and costs little.
  app.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    const { protocol, network, token } = request.params as { protocol: string; network: string; token: string }
    const chain = options.chains().find(({ names }) => names.protocol === protocol && names.network === network)
    const refusal =
      (await refusalOf(request, options, chain, token)) ?? (await takeRequest(request, reply, options.meter))
    if (refusal !== undefined) return sendRefusal(reply, refusal)
  })
}

/** Why the token may not ask there; undefined where it may: then the request knows the chain, the account and, but for NFTs, how the tables stand. */
export async function refusalOf(
  request: FastifyRequest,
  { standings, addresses, family, serves, accountsKnown, tablesWhole }: Omit<ChainPathOptions, 'chains'>,
  chain: ApiChain | undefined,
  token: string,
): Promise<Refusal | undefined> {
  if (chain === undefined) return refuse('404')
  if (!serves(chain)) return refuse('404', NO_VALIDATORS)
  request.chain = chain
  const tokenHash = hashToken(token)
  const knownToken = async () => {
    // Answers about tokens depend on tables of their own.
    if (family === 'nft') return (await standings.accounts()).tokenOf(tokenHash)
    request.standing = await standings.of(chain.names.name)
    return request.standing.tokenOf(tokenHash)
  }
  let known = await knownToken()
  if (known === undefined) {
    if (!(await within(LOOK_MS_MAX, accountsKnown))) return refuse('503')
    // It may have been waited for facts, which came after the look.
    known = await knownToken()
  }
  if (known === undefined) return refuse('401')
  // Before anything is answered from memory: what is kept is the account's, whichever of its tokens asked for it.
  const { scope = 'read' } = request.routeOptions.config
  const lack = lackOf(known, { scope, family, chain: chain.names.name })
  if (lack !== undefined) return refuse('401', lack)
  const foreign = foreignClient(known.allow, request.raw, addresses)
  if (foreign !== undefined) return refuse('403', notAllowedWords(foreign), foreign.what)
  if (!(await within(LOOK_MS_MAX, tablesWhole))) return refuse('503', BEING_FILLED)
  request.account = known.account
  request.tokenHash = tokenHash
  request.actor = tokenHash.slice(0, TOKEN_HASH_CHARACTERS)
  return undefined
}

interface Asked {
  readonly scope: TokenScope
  readonly family: TokenFamily
  readonly chain: string
}

/** Why a token is not for what is asked; undefined where it is. */
export function lackOf({ scopes, families, chain }: TokenLimits, asked: Asked): string | undefined {
  if (!scopes.includes(asked.scope)) return `the token does not have the scope ${asked.scope}`
  if (families?.includes(asked.family) === false) return `the token is not for the family ${asked.family}`
  if (chain !== undefined && chain !== asked.chain) return `the token is not for the chain ${asked.chain}`
  return undefined
}

/** The chain that `requireChainAndAccount` has found for the request. */
export function chainOf(request: FastifyRequest): ApiChain {
  if (request.chain === undefined) throw new Error('The route is not behind requireChainAndAccount.')
  return request.chain
}

/** How the chain's tables stood when the request came behind `requireChainAndAccount`. */
export function standingOf(request: FastifyRequest): Standing {
  if (request.standing === undefined) throw new Error('The route is not behind requireChainAndAccount.')
  return request.standing
}
