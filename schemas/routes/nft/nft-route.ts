import { type Static, type TObject, type TSchema, Type } from 'typebox'
import { RESULTS, type Refusal } from '../envelope.ts'

/** The paths of an operation: the first one is documented, the others answer the same. */
export const NFT_PATHS = ['/nft/{chain}/{token}', '/nft/{chain}/{token}/v1', '/{chain}/{token}/v1'] as const

/** Whether a request is meant for this family, whatever operation it names: its address begins as one of the paths. */
export function isNftPath(url: string): boolean {
  return /^\/(?:nft(?:\/|$)|[^/]+\/[^/]+\/v1\/[^/]+\/?$)/.test(url.replace(/\?.*$/s, ''))
}

export const NftPathParams = Type.Object({
  chain: Type.String({
    description: 'Chain by its NFT name: protocol and network.',
    examples: ['eth_mainnet', 'scroll_mainnet'],
  }),
  token: Type.String({ description: 'Access token: stands for the account and authenticates the request.' }),
})

/** One operation, whatever its parameters and answer are. */
export interface AnyNftRoute {
  readonly id: string
  /** Names in the path; the first one is the canonical one. */
  readonly names: readonly [string, ...string[]]
  readonly methods: readonly ('GET' | 'POST')[]
  readonly summary: string
  readonly description: string
  /** From the query or the JSON body, whichever has them. */
  readonly parameters: TObject
  /** The whole successful answer: NFT operations have no envelope. */
  readonly response: TSchema
  /** Refusals that no other operation has. */
  readonly failures?: readonly NftFailure[]
  /** Absent: JSON. */
  readonly media?: 'text/csv'
  readonly example: unknown
}

export interface NftRoute<Parameters extends TObject, Response extends TSchema> extends AnyNftRoute {
  readonly parameters: Parameters
  readonly response: Response
  readonly example: Static<Response>
}

/** Keeps the precise types of a route's parts. */
export function defineNftRoute<Parameters extends TObject, Response extends TSchema>(
  route: NftRoute<Parameters, Response>,
): NftRoute<Parameters, Response> {
  return route
}

/** Statuses beside 200, which are the codes of their bodies, too. */
export const NFT_FAILURES = {
  400: RESULTS['400'].text,
  401: RESULTS['401'].text,
  403: RESULTS['403'].text,
  404: RESULTS['404'].text,
  405: 'Method Not Allowed',
  410: 'Gone',
  429: 'Too Many Requests',
  500: RESULTS['500'].text,
  503: RESULTS['503'].text,
} as const
export type NftFailure = keyof typeof NFT_FAILURES

/** An expected refusal: `detail` is a sentence, without a secret, of what is wrong. */
export interface NftRefusal {
  readonly status: 'refused'
  readonly code: NftFailure
  readonly detail: string | null
}

export function refuseNft(code: NftFailure, detail?: string): NftRefusal {
  return { status: 'refused', code, detail: detail ?? null }
}

/** A refusal of what all families share, as this family tells it. */
export function toNftRefusal({ code, detail }: Refusal): NftRefusal {
  return refuseNft(RESULTS[code].httpStatus, detail)
}

/** Shape of a refusal. */
export const NftError = Type.Object(
  {
    code: Type.Enum(Object.keys(NFT_FAILURES).map(Number) as NftFailure[]),
    message: Type.String(),
    data: Type.Null(),
    detail: Type.Union([Type.String(), Type.Null()], { description: 'What exactly is wrong.' }),
  },
  { additionalProperties: false },
)
