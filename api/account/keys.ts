import { isExpired, TOKEN_HASH_CHARACTERS, TOKEN_NAME_PATTERN } from '../../schemas/access-token.ts'
import { ALLOW_BYTES_MAX } from '../../schemas/allow-lists.ts'
import { chainNames } from '../../schemas/chains.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import type { UserKey } from '../../schemas/events/users.ts'
import { ORDER_ID_PATTERN } from '../../schemas/orders.ts'
import { PROTOCOLS } from '../../schemas/protocols/protocols.ts'
import { createKeyRoute, deleteKeyRoute, type ListedKey, listKeysRoute } from '../../schemas/routes/account/keys.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { answer, answerPage, pageOffset } from '../http/operation.ts'
import { parseAllowLists } from '../http/parse-allow-lists.ts'
import type { AccountStanding } from '../http/standings.ts'
import { type Accounts, accountOperation } from './account.ts'
import { DONE, noSuchKey, noSuchOrder, notLoggedIn, wrongState } from './answers.ts'
import { newToken } from './secrets.ts'

const NAME = new RegExp(TOKEN_NAME_PATTERN, 'u')
const ORDER_ID = new RegExp(ORDER_ID_PATTERN)
const KEY_ID = new RegExp(`^[0-9a-f]{${TOKEN_HASH_CHARACTERS}}$`)
const pathOf = (protocol: string, network: string): string => `${protocol}/${network}`

const GATEWAY_NETWORKS: readonly (readonly [chain: string, path: string])[] = PROTOCOLS.flatMap(({ name, networks }) =>
  Object.keys(networks).map((network) => [chainNames(name, network).name, pathOf(name, network)] as const),
)

/** Paths of all that a key may be for, by the names that tokens have it by: networks of the gateway, and chains that are served. */
function blockchains({ parts }: Accounts): ReadonlyMap<string, string> {
  const served = parts.chains().map(({ names }) => [names.name, pathOf(names.protocol, names.network)] as const)
  return new Map([...GATEWAY_NETWORKS, ...served])
}

function toShown({ hash, name, chain, allow, order }: Omit<UserKey, 'sinceSec'>, paths: ReadonlyMap<string, string>) {
  // A chain that is gone has its name all the same.
  const blockchain = chain === undefined ? null : (paths.get(chain) ?? chain)
  return {
    key_id: hash.slice(0, TOKEN_HASH_CHARACTERS),
    name,
    blockchain,
    allow: allow ?? null,
    order_id: order ?? null,
  }
}

function isWorking(tokens: AccountStanding, { hash }: UserKey, nowMs: number): boolean {
  const known = tokens.tokenOf(hash)
  return known !== undefined && !isExpired(known, nowMs)
}

export const createKey = accountOperation(createKeyRoute, async ({ body, session }, accounts) => {
  const { name, blockchain, allow: given = {}, order_id: order } = body
  if (!NAME.test(name)) return refuse('400', 'name has characters that cannot be printed')
  const paths = blockchains(accounts)
  const chain = [...paths].find(([, path]) => path === blockchain)?.[0]
  if (blockchain !== undefined && chain === undefined)
    return refuse('400', 'blockchain is none that there is, e.g. ethereum/mainnet', 'no_such_blockchain')
  if (order !== undefined && blockchain !== undefined)
    return refuse('400', 'the blockchain of a key of an order is that of the order: leave blockchain out')
  if (order !== undefined && !ORDER_ID.test(order)) return noSuchOrder()
  if (body.allow !== undefined && Object.keys(body.allow).length === 0)
    return refuse('400', 'allow has no list: leave it out for a key without any', 'allow_not_valid')
  const lists = parseAllowLists(given)
  if (lists.status === 'refused')
    return refuse('400', `allow.${lists.list} has ${JSON.stringify(lists.entry)}, ${lists.why}`, 'allow_not_valid')
  if (lists.status === 'too-large')
    return refuse('400', `allow has more than ${ALLOW_BYTES_MAX} bytes`, 'allow_not_valid')
  const key = newToken()
  const hash = hashToken(key)
  const limits = {
    ...(chain === undefined ? {} : { chain }),
    ...(lists.allow === undefined ? {} : { allow: lists.allow }),
    ...(order === undefined ? {} : { order }),
  }
  const asked = await accounts.ask({ kind: 'create-key', session, hash, name, ...limits })
  if (asked.status === 'too-many-keys') return refuse('400', 'the account has as many keys as it may', 'too_many_keys')
  if (asked.status === 'too-many-deleted')
    return refuse('400', 'the account has deleted as many keys within a day as it may', 'too_many_deleted')
  if (asked.status === 'no-order') return noSuchOrder()
  if (asked.status === 'wrong-state') return wrongState(asked.state)
  return asked.status === 'made' ? answer({ ...toShown(asked.key, paths), key }) : notLoggedIn()
})

export const listKeys = accountOperation(listKeysRoute, async ({ query, session }, accounts) => {
  const { page, limit } = query
  const keys = await (query.state === 'deleted' ? deletedKeys : presentKeys)(session, accounts)
  if (keys === undefined) return notLoggedIn()
  const begin = pageOffset(query)
  return answerPage(keys.slice(begin, begin + limit), { page, limit, total: keys.length })
})

/** Undefined where nobody is logged in. */
async function presentKeys(session: string, accounts: Accounts): Promise<readonly ListedKey[] | undefined> {
  const found = await accounts.ask({ kind: 'look', session })
  if (found.status !== 'found') return undefined
  const [paths, tokens] = [blockchains(accounts), await accounts.parts.standings.accounts()]
  const nowMs = accounts.parts.wallNow()
  return found.user.keys.map((key) => ({
    ...toShown(key, paths),
    created_at: formatInstant(key.sinceSec),
    deleted_at: null,
    is_working: isWorking(tokens, key, nowMs),
  }))
}

/** Likewise. */
async function deletedKeys(session: string, accounts: Accounts): Promise<readonly ListedKey[] | undefined> {
  const asked = await accounts.ask({ kind: 'list-deleted-keys', session })
  if (asked.status !== 'deleted-keys') return undefined
  const paths = blockchains(accounts)
  return asked.keys.map((key) => ({
    ...toShown(key, paths),
    created_at: formatInstant(key.sinceSec),
    deleted_at: formatInstant(key.deletedSec),
    is_working: false,
  }))
}

export const deleteKey = accountOperation(deleteKeyRoute, async ({ params, session }, accounts) => {
  const keyId = params.key_id
  if (!KEY_ID.test(keyId)) return noSuchKey()
  const { status } = await accounts.ask({ kind: 'delete-key', session, keyId })
  if (status === 'no-key') return noSuchKey()
  return status === 'done' ? DONE : notLoggedIn()
})
