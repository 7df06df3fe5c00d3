import { hasRightChecksum } from '../../schemas/eth/address.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { LIMIT_MAX, LISTED_VALIDATORS_MAX } from '../../schemas/routes/fields.ts'
import { normalisePubkey } from '../http/pubkey-text.ts'
import { validatorLabels } from '../http/validator-labels.ts'
import { credentialsOf, type ListedValidator, listValidators } from '../validators/list-validators.ts'
import { toStatus } from '../validators/validator-status.ts'
import { FIRST_DEFAULT } from './analyst-windows.ts'
import type { GraphqlContext } from './context.ts'
import { refusalError } from './refusals.ts'

export interface ValidatorsArguments {
  readonly first?: number | null
  readonly after?: string | null
  readonly pubkeys?: readonly string[] | null
  readonly label?: string | null
  readonly statuses?: readonly string[] | null
  readonly withdrawalAddress?: string | null
  readonly orderBy?: ValidatorOrder | null
  readonly descending?: boolean | null
}

/** What each order goes by, before the index. */
const KEYS = {
  INDEX: () => 0n,
  BALANCE: ({ balance_gwei }: ListedValidator) => BigInt(balance_gwei),
  EFFECTIVE_BALANCE: ({ effective_balance_gwei }: ListedValidator) => BigInt(effective_balance_gwei),
  ACTIVATION_EPOCH: ({ activation_epoch }: ListedValidator) => BigInt(activation_epoch),
  EXIT_EPOCH: ({ exit_epoch }: ListedValidator) => BigInt(exit_epoch),
} as const
type ValidatorOrder = keyof typeof KEYS

const PUBKEY = /^(0x)?[0-9a-f]{96}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
/** The index, behind what else the order goes by. */
const CURSOR = /^(?:([0-9]{1,20}):)?([0-9]{1,10})$/

interface Place {
  readonly key: bigint
  readonly index: number
}

/** A page of the account's validators. Throws a GraphQLError where the arguments are wrong. */
export async function loadValidators(args: ValidatorsArguments, context: GraphqlContext) {
  const first = args.first ?? FIRST_DEFAULT
  if (first < 1 || first > LIMIT_MAX)
    throw refusalError('400', `first is not between 1 and ${LIMIT_MAX}: ask for the next page with after`)
  const order = args.orderBy ?? 'INDEX'
  const last = args.after == null ? undefined : readCursor(args.after, order)
  const wanted = await listWanted(args, context)
  const placed = wanted.map((row) => ({ row, key: KEYS[order](row), index: row.validator_index }))
  const sign = args.descending === true ? -1 : 1
  const compare = (one: Place, other: Place): number =>
    sign * (one.key < other.key ? -1 : one.key > other.key ? 1 : one.index - other.index)
  const rest = placed.filter((one) => last === undefined || compare(one, last) > 0).toSorted(compare)
  const page = rest.slice(0, first)
  const end = page.at(-1)
  return {
    totalCount: placed.length,
    nodes: page.map(({ row }) => row),
    pageInfo: {
      hasNextPage: rest.length > first,
      endCursor: end === undefined ? null : order === 'INDEX' ? `${end.index}` : `${end.key}:${end.index}`,
    },
  }
}

async function listWanted(args: ValidatorsArguments, context: GraphqlContext): Promise<readonly ListedValidator[]> {
  const pubkeys = readPubkeys(args.pubkeys ?? [], LISTED_VALIDATORS_MAX)
  const statuses = new Set(args.statuses ?? VALIDATOR_STATUSES)
  for (const status of statuses)
    if (!(VALIDATOR_STATUSES as readonly string[]).includes(status))
      throw refusalError('400', `statuses are of ${VALIDATOR_STATUSES.join(', ')}`)
  const credentials = readCredentials(args.withdrawalAddress ?? undefined)
  // Here an empty list is none, where REST takes it for no filter.
  if (args.pubkeys?.length === 0) return []
  const horizon = await context.horizon()
  if (horizon === undefined) return []
  const found = await listValidators(context, horizon, { former: true, pubkeys, credentials })
  const labels = args.label == null ? undefined : await validatorLabels(context)
  return found.filter(
    ({ pubkey, status }) =>
      statuses.has(toStatus(status)) && (labels === undefined || (labels.get(pubkey) ?? '') === args.label),
  )
}

function readCredentials(address: string | undefined): readonly string[] {
  if (address === undefined) return []
  if (!ADDRESS.test(address) || !hasRightChecksum(address))
    throw refusalError('400', 'withdrawalAddress is no address, or its letters are not those of its checksum')
  return credentialsOf(address)
}

function readCursor(text: string, order: ValidatorOrder): Place {
  const [, key, index] = CURSOR.exec(text) ?? []
  if (index === undefined || (key === undefined) !== (order === 'INDEX'))
    throw refusalError('400', 'after is not a cursor of this list in this order')
  return { key: BigInt(key ?? 0), index: Number(index) }
}

/** Throws a GraphQLError where the argument `pubkey` is none. */
export function checkPubkey(given: string): void {
  if (!isPubkey(given)) throw refusalError('400', 'pubkey is not a public key')
}

const isPubkey = (text: string): boolean => PUBKEY.test(text.toLowerCase())

/** As tables have them; a GraphQLError where one is none, or they are too many. */
export function readPubkeys(given: readonly string[], max: number): readonly string[] {
  if (given.length <= max && given.every(isPubkey)) return given.map(normalisePubkey)
  throw refusalError('400', `pubkeys is not a list of at most ${max} public keys`)
}
