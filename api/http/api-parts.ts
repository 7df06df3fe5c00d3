import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Upstreams } from '../../infra/ports/upstreams.ts'
import type { WordsReader } from '../../infra/ports/warehouse.ts'
import type { UnprovenDays } from '../../schemas/tables/day-levels.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import type { AccountParts } from '../account/account.ts'
import type { ClientAddresses } from '../gateway/client-address.ts'
import type { GatewayHost } from '../gateway/hosts.ts'
import type { Meter } from '../gateway/meter.ts'
import type { Answers } from './answers.ts'
import type { ApiChain } from './chain-path.ts'
import type { Health } from './health.ts'
import type { DifferenceOfNode } from './metrics.ts'
import type { RequestLimit } from './request-limit.ts'
import type { Standings } from './standings.ts'
import type { StatementQueue } from './statement-queue.ts'
import type { StatementSigner } from './statement-signer.ts'

/** What the API is made from. */
export interface ApiParts {
  readonly warehouse: WordsReader
  /** The chains that are served now: asked at each request, for they may be added and removed meanwhile. */
  readonly chains: () => readonly ApiChain[]
  /** Origins of pages that may ask from a browser, `*` for all; without them none may. */
  readonly corsOrigins?: readonly string[]
  /** What is to be done and not only answered goes through it. */
  readonly jobs: Pick<JobQueue, 'add' | 'result' | 'withdraw' | 'request' | 'pending'>
  /** What is allowed of validators that nobody has funded. */
  readonly unfundedRules: UnfundedRules
  /** Whether days of validators count in the figures of days although their balances are not explained; without it they do not. */
  readonly servesUnproven?: boolean
  /** What quotes are made for; without it there are none. */
  readonly quotes?: { readonly chain: string; readonly account: string } | undefined
  /** Addresses and networks of proxies that are believed whom they ask for: without them the asker is the client. */
  readonly trustedProxies?: readonly string[]
  /** NFT questions of one access token; without it as many as it likes. */
  readonly nftRequestsPerSecond?: number | undefined
  /** What the gateway forwards calls to; without it there is no gateway. */
  readonly upstreams?: Upstreams
  /** Host names that stand for a network of it; asked at each request. */
  readonly gatewayHosts?: () => readonly GatewayHost[]
  /** What accounts and clients may ask; without it as much as they like. */
  readonly meter?: Meter | undefined
  /** What people's own accounts are made with; without it there are none. */
  readonly account?: AccountParts | undefined
  /** What monthly statements are signed with; without it there are none. */
  readonly statementSigner?: StatementSigner | undefined
  readonly log: Log
  /** Unix milliseconds on the chains. */
  readonly now: () => number
  /** Unix milliseconds on the machine: requests wait by it, also where a devnet's chain is ahead of it. */
  readonly wallNow: () => number
  readonly health: () => Promise<Health>
  /** Whether every account fact that the log held when it was asked is in the tables: before, a token that is not there may still be one. */
  readonly accountsKnown: () => Promise<boolean>
  /** Whether the tables have all that the log held when they were made: a part of it would be served as sums of the whole. */
  readonly tablesWhole: () => Promise<boolean>
  /** How many days of validators are not proven; without it there are no metrics. */
  readonly unprovenDays?: () => Promise<readonly UnprovenDays[]>
  /** What nodes have told otherwise than figures go by; absent where this process reads from none. */
  readonly nodeDifferences?: () => readonly DifferenceOfNode[]
  /** How old what is known of the tables may be; tests that change them want 0. */
  readonly standingAgeMsMax?: number
  /** After how long it is made again although nothing has changed; tests that count statements want it never. */
  readonly standingKeptMsMax?: number
  /** Until the answer to a question is ready, `ANSWER_MS_MAX` unless told. */
  readonly answerMsMax?: number
  /** Until what is under way is cut when the API stops, `ANSWER_MS_MAX` unless told. */
  readonly stopMsMax?: number
}

/** What every family's plugin gets: the parts, and what the requests of all families share. */
export interface SharedParts extends ApiParts {
  readonly standings: Standings
  readonly addresses: ClientAddresses
  readonly answers: Answers
  readonly queue: StatementQueue
  /** Of NFT questions, whichever way they are asked; undefined without a limit. */
  readonly nftLimit: RequestLimit | undefined
}
