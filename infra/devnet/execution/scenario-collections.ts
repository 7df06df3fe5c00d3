import { type Abi, encodeDeployData, getContractAddress } from 'viem'
import type { Hex } from '../../../schemas/eth/hex.ts'
import artifacts from '../collections/artifacts.json' with { type: 'json' }
import {
  COLLECTION_TOKENS,
  type CollectionsState,
  PROVISION_IDS,
  PUBLISHER,
  type ScenarioSetup,
  type TransactionFields,
  USERS,
} from './scenario-state.ts'
import {
  add,
  addressOf,
  below,
  callFields,
  type Draft,
  feeFields,
  hex,
  randomTip,
  randomUser,
} from './scenario-transactions.ts'

/**
 * Collections of tokens of every standard, made of OpenZeppelin's contracts: they are created in the chain's first blocks, then their
 * tokens are minted, moved, burned and announced anew every few slots. Few tokens, because anvil hashes the whole state anew for every
 * block.
 */

export type CollectionName = keyof typeof artifacts.contracts

/** In the order of their creation, which their addresses follow from. */
export const COLLECTIONS = [
  'Lanterns',
  'Provisions',
  'Charts',
  'Echoes',
  'Inscriptions',
  'Almanac',
  'Halves',
] as const satisfies readonly CollectionName[]

const MAX = 2n ** 256n - 1n
const oneTo = (last: number) => Array.from({ length: last }, (_, i) => BigInt(i + 1))

/** Those whose tokens there is one of each of, with the tokens that are moved. */
const SINGLES = [
  { name: 'Lanterns', ids: oneTo(COLLECTION_TOKENS) },
  { name: 'Charts', ids: oneTo(COLLECTION_TOKENS) },
  { name: 'Echoes', ids: oneTo(COLLECTION_TOKENS) },
  { name: 'Inscriptions', ids: [...oneTo(COLLECTION_TOKENS - 2), 2n ** 64n, MAX] },
  { name: 'Almanac', ids: oneTo(COLLECTION_TOKENS) },
] as const satisfies readonly { readonly name: CollectionName; readonly ids: readonly bigint[] }[]

/** With one that no number of JavaScript holds. */
const PROVISION_TOKENS = [1n, 2n, 2n ** 255n] as const satisfies { readonly length: typeof PROVISION_IDS }

/** Tokens of Charts, from 0 on, that the first users have from its creation. */
const CHART_RANGES = [24, 6, 2]

/** How many slots have a transaction of a collection. */
const SHARE = { ethereum: 0.25, rollup: 0.5 } as const

const CREATION_GAS = 2_200_000
const MOVE_GAS = 450_000
const PROVISIONS_PER_MINT = 20
const HALVES_MAX = 6

/** Where a collection is, on either of the devnet's chains. */
export function collectionAddress(name: CollectionName, publisher: Hex): Hex {
  const nonce = BigInt(COLLECTIONS.indexOf(name))
  return getContractAddress({ from: publisher, nonce }).toLowerCase() as Hex
}

/** Where the documents of a collection are; ids follow. */
export function documentsUrl(metadataUrl: string, profile: ScenarioSetup['profile'], name: CollectionName): string {
  return `${metadataUrl}/${profile}/${name.toLowerCase()}/`
}

/** Creates the next collection as long as there is one; afterwards does something with one of them, or nothing. */
export function addCollections(draft: Draft): CollectionsState {
  const { published } = draft.collections
  const next = COLLECTIONS[published]
  if (next !== undefined) return create(draft, next)
  if (draft.random() < SHARE[draft.setup.profile]) MOVES[below(draft.random, MOVES.length)]?.(draft)
  return draft.collections
}

function create(draft: Draft, name: CollectionName): CollectionsState {
  const { abi, bytecode } = artifacts.contracts[name]
  const input = encodeDeployData({ abi: abi as Abi, bytecode: bytecode as Hex, args: creationArguments(draft, name) })
  add(draft, PUBLISHER, { input, gas: hex(CREATION_GAS), ...feeFields(randomTip(draft)) })
  const { collections } = draft
  if (name === 'Charts') {
    const owners = CHART_RANGES.flatMap((count, user) => new Array<number>(count).fill(user + 1))
    // Tokens from 1 on are those that are moved.
    for (let token = 0; token < COLLECTION_TOKENS; token++)
      collections.owners[placeOf('Charts', token)] = owners[token + 1] ?? 0
  }
  return { ...collections, published: collections.published + 1 }
}

function creationArguments(draft: Draft, name: CollectionName): readonly unknown[] {
  if (name === 'Inscriptions') return []
  const base = documentsUrl(draft.setup.metadataUrl, draft.setup.profile, name)
  return name === 'Charts' ? [base, CHART_RANGES.map((_, user) => addressOf(draft, user)), CHART_RANGES] : [base]
}

type SingleName = (typeof SINGLES)[number]['name']

function placeOf(name: SingleName, token: number): number {
  return SINGLES.findIndex((single) => single.name === name) * COLLECTION_TOKENS + token
}

function call(draft: Draft, name: CollectionName, functionName: string, args: readonly unknown[]): TransactionFields {
  const to = collectionAddress(name, addressOf(draft, PUBLISHER))
  const fields = callFields(draft, to, artifacts.contracts[name].abi, functionName, args)
  return { ...fields, gas: hex(MOVE_GAS) }
}

/** Mints a token that does not exist; otherwise its owner passes it on, or sometimes burns it. */
function moveSingle(draft: Draft, name: SingleName): void {
  const { owners } = draft.collections
  const token = below(draft.random, COLLECTION_TOKENS)
  const place = placeOf(name, token)
  const id = SINGLES.find((single) => single.name === name)?.ids[token] ?? 0n
  const owner = (owners[place] ?? 0) - 1
  const receiver = randomUser(draft)
  if (owner < 0) {
    if (name === 'Echoes') mintEchoes(draft, token)
    else if (name !== 'Charts') {
      add(draft, randomUser(draft), call(draft, name, 'mint', [addressOf(draft, receiver), id]))
      owners[place] = receiver + 1
    }
    return
  }
  // Charts are made once, with their collection.
  if (draft.random() < (name === 'Charts' ? 0.01 : 0.15)) {
    add(draft, owner, call(draft, name, 'burn', [id]))
    owners[place] = 0
    return
  }
  const method = draft.random() < 0.5 ? 'transferFrom' : 'safeTransferFrom'
  add(draft, owner, call(draft, name, method, [addressOf(draft, owner), addressOf(draft, receiver), id]))
  owners[place] = receiver + 1
}

/** Up to three that do not exist, one after the other. */
function mintEchoes(draft: Draft, first: number): void {
  const { owners } = draft.collections
  const receiver = randomUser(draft)
  let count = 0
  while (count < 3 && first + count < COLLECTION_TOKENS && owners[placeOf('Echoes', first + count)] === 0) {
    owners[placeOf('Echoes', first + count)] = receiver + 1
    count++
  }
  const args = [addressOf(draft, receiver), BigInt(first + 1), BigInt(count)]
  add(draft, randomUser(draft), call(draft, 'Echoes', 'mintRange', args))
}

/** The almanac's documents change: one, or all of them. */
function revise(draft: Draft): void {
  const token = below(draft.random, COLLECTION_TOKENS)
  const exists = draft.collections.owners[placeOf('Almanac', token)] !== 0
  if (exists && draft.random() < 0.9)
    add(draft, randomUser(draft), call(draft, 'Almanac', 'revise', [BigInt(token + 1)]))
  else add(draft, randomUser(draft), call(draft, 'Almanac', 'reviseAll', []))
}

/** A batch names one token twice where the sender has enough of it; without enough of anything there is a mint. */
function moveProvisions(draft: Draft): void {
  const { provisions } = draft.collections
  const sender = randomUser(draft)
  const receiver = randomUser(draft)
  const [from, to] = [addressOf(draft, sender), addressOf(draft, receiver)]
  const first = below(draft.random, PROVISION_IDS)
  const tokens = draft.random() < 0.5 ? [first] : [first, first, (first + 1) % PROVISION_IDS]
  const amountOf = (token: number, user: number) => provisions[token * USERS + user] ?? 0
  const change = (user: number, amount: number) => {
    for (const token of tokens) provisions[token * USERS + user] = amountOf(token, user) + amount
  }
  const has = tokens.every((token) => amountOf(token, sender) >= 2)
  const ids = tokens.map((token) => PROVISION_TOKENS[token])
  const isBatch = tokens.length > 1
  if (!has) {
    const amounts = tokens.map(() => BigInt(PROVISIONS_PER_MINT))
    const mint = isBatch
      ? call(draft, 'Provisions', 'mintBatch', [to, ids, amounts])
      : call(draft, 'Provisions', 'mint', [to, ids[0], amounts[0]])
    add(draft, sender, mint)
    change(receiver, PROVISIONS_PER_MINT)
    return
  }
  const ones = tokens.map(() => 1n)
  change(sender, -1)
  if (draft.random() < 0.2) {
    add(draft, sender, call(draft, 'Provisions', 'burnBatch', [from, ids, ones]))
    return
  }
  change(receiver, 1)
  const method = isBatch ? 'safeBatchTransferFrom' : 'safeTransferFrom'
  add(draft, sender, call(draft, 'Provisions', method, [from, to, ...(isBatch ? [ids, ones] : [ids[0], 1n]), '0x']))
}

function announceProvisions(draft: Draft): void {
  const id = PROVISION_TOKENS[below(draft.random, PROVISION_IDS)]
  add(draft, randomUser(draft), call(draft, 'Provisions', 'announce', [id]))
}

/** Two halves make a token, and one that goes ends it. */
function moveHalves(draft: Draft): void {
  const { halves } = draft.collections
  const sender = randomUser(draft)
  const receiver = randomUser(draft)
  const [has = 0, had = 0] = [halves[sender], halves[receiver]]
  if (has === 0) {
    if (had + 3 > HALVES_MAX) return
    add(draft, sender, call(draft, 'Halves', 'mint', [addressOf(draft, receiver), 3n]))
    halves[receiver] = had + 3
  } else if (had >= HALVES_MAX || draft.random() < 0.3) {
    add(draft, sender, call(draft, 'Halves', 'burn', [1n]))
    halves[sender] = has - 1
  } else {
    add(draft, sender, call(draft, 'Halves', 'transfer', [addressOf(draft, receiver), 1n]))
    halves[sender] = has - 1
    halves[receiver] = (halves[receiver] ?? 0) + 1
  }
}

/** One of these is drawn, each as likely as the others. */
const MOVES: readonly ((draft: Draft) => void)[] = [
  ...[1, 2, 3].map(() => (draft: Draft) => moveSingle(draft, 'Lanterns')),
  ...[1, 2, 3].map(() => moveProvisions),
  ...(['Charts', 'Echoes', 'Inscriptions', 'Almanac'] as const).map(
    (name) => (draft: Draft) => moveSingle(draft, name),
  ),
  moveHalves,
  (draft) => (draft.random() < 0.5 ? revise(draft) : announceProvisions(draft)),
]

/** For a slot of its own. */
export function copyOf({ published, owners, provisions, halves }: CollectionsState): CollectionsState {
  return { published, owners: owners.slice(), provisions: provisions.slice(), halves: halves.slice() }
}
