import DataLoader from 'dataloader'
import { Type } from 'typebox'
import { AT_BLOCK, type NftContract } from '../../schemas/routes/nft/fields.ts'
import { refuseNft } from '../../schemas/routes/nft/nft-route.ts'
import type { LookupReader } from '../http/lookups.ts'
import { isOfOneChain, type NftOperation, type NftPin, NOTHING_INDEXED, RefusedNft, scopeAt } from '../nft/asking.ts'
import { type SaidOfToken, saidOfTokens } from '../nft/metadata.ts'
import { describeAsked } from '../nft/metadata-operations.ts'
import { blockOfPageKey } from '../nft/page-key.ts'
import { nftParameterReader, type ReadNftParameters } from '../nft/read-parameters.ts'
import { findPageSnapshot, findSnapshot, type Tables } from '../nft/snapshot.ts'
import { type AskedContract, type AskedToken, withStandards } from '../nft/standards.ts'
import type { NftStandings, Snapshot } from '../nft/standing.ts'
import { LOOKUPS_MAX } from './nft-cost.ts'

/** Arguments as GraphQL names them. */
export type Arguments = Readonly<Record<string, unknown>>

export interface NftAsker {
  readonly standings: NftStandings
  /** Name in the tables. */
  readonly chain: string
  readonly warehouse: LookupReader
}

const readBlock = nftParameterReader(Type.Object({ block: AT_BLOCK.block }))
const readers = new WeakMap<NftOperation, ReadNftParameters>()

/** What one document asks of tokens: the REST operations are asked, all as of one block, and lookups of many rows are one. */
export class NftQuestions {
  /** In the whole document: they say which block it is of, where it does not. */
  pageKeys: readonly string[] = []
  readonly contracts: DataLoader<AskedContract, NftContract, string>
  readonly tokens: DataLoader<AskedToken, SaidOfToken, string>
  readonly #asker: NftAsker
  readonly #asked = new Map<string, Promise<unknown>>()
  #opened: { readonly block: string | undefined; readonly pin: Promise<NftPin> } | undefined

  constructor(asker: NftAsker) {
    this.#asker = asker
    const maxBatchSize = LOOKUPS_MAX
    this.contracts = new DataLoader((keys) => this.#describeContracts(keys), {
      maxBatchSize,
      cacheKeyFn: ({ contract, standard }) => `${contract} ${standard}`,
    })
    this.tokens = new DataLoader((keys) => this.#describeTokens(keys), {
      maxBatchSize,
      cacheKeyFn: ({ contract, tokenId, standard }) => `${contract} ${tokenId} ${standard}`,
    })
  }

  /** Decides which block everything is of. Throws RefusedNft where there is none such, or another one was decided for. */
  async open(block: string | null | undefined): Promise<NftPin> {
    const given = readBlock({}, JSON.stringify({ block }))
    if (given.status === 'refused') throw new RefusedNft(given)
    const text = given.values.block as string | undefined
    this.#opened ??= { block: text, pin: this.#pin(text) }
    if (this.#opened.block !== text) throw new RefusedNft(refuseNft(400, 'all of a document is of one block'))
    return await this.#opened.pin
  }

  /** What the operation answers; asked once where it is asked for twice. Throws RefusedNft for what it refuses. */
  async ask<Body>(operation: NftOperation, args: Arguments): Promise<Body> {
    const values = this.read(operation, args)
    const key = JSON.stringify([operation.route.id, values])
    const asked = this.#asked.get(key) ?? this.#ask(operation, values)
    this.#asked.set(key, asked)
    return (await asked) as Body
  }

  /** The operation's parameters, as it would read them of a JSON body. */
  read(operation: NftOperation, args: Arguments): Arguments {
    const read = readers.get(operation) ?? nftParameterReader(operation.route.parameters)
    readers.set(operation, read)
    const given = read({}, JSON.stringify(snakeKeys(args), inWords))
    if (given.status === 'refused') throw new RefusedNft(given)
    return given.values
  }

  /** Whether all that was read is of one chain: no block was reverted meanwhile. */
  async isOfOneChain(): Promise<boolean> {
    const pin = await this.#opened?.pin.catch(refusedOnly)
    return pin === undefined || (await isOfOneChain(this.#asker.standings, pin))
  }

  /** Which everything is of; undefined where nothing of tokens was asked for, or of a block that is none. */
  async block(): Promise<Snapshot | undefined> {
    return (await this.#opened?.pin.catch(refusedOnly))?.snapshot
  }

  async #pin(block: string | undefined): Promise<NftPin> {
    const { standings, chain, warehouse } = this.#asker
    const standing = await standings.of(chain)
    if (standing === undefined) throw new RefusedNft(refuseNft(503, NOTHING_INDEXED))
    const tables = { warehouse, chain, standing }
    const found = await this.#snapshot(tables, block)
    if (found.status === 'refused') throw new RefusedNft(found)
    return { ...tables, snapshot: found.snapshot }
  }

  #snapshot(tables: Tables, block: string | undefined): ReturnType<typeof findSnapshot> {
    const blocks = this.pageKeys.map(blockOfPageKey).filter((one) => one !== undefined)
    const [first] = blocks
    if (first === undefined) return findSnapshot(tables, block ?? 'latest')
    if (blocks.some(({ hash }) => hash !== first.hash))
      throw new RefusedNft(refuseNft(400, 'the page keys are of several blocks, and all of a document is of one'))
    return findPageSnapshot(tables, first, block)
  }

  async #ask(operation: NftOperation, values: Arguments): Promise<unknown> {
    const result = await operation.handle(values, scopeAt(await this.#pinned(), operation, values))
    if (result.status === 'refused') throw new RefusedNft(result)
    return result.body
  }

  #pinned(): Promise<NftPin> {
    if (this.#opened === undefined) throw new Error('Nothing is asked of tokens before their block is known.')
    return this.#opened.pin
  }

  async #describeContracts(keys: readonly AskedContract[]): Promise<readonly NftContract[]> {
    const pin = await this.#pinned()
    return await describeAsked(pin, keys, true)
  }

  async #describeTokens(keys: readonly AskedToken[]): Promise<readonly SaidOfToken[]> {
    const pin = await this.#pinned()
    return await saidOfTokens(pin, await withStandards(pin, keys), true)
  }
}

/** A block that was refused is of no chain. */
function refusedOnly(error: unknown): undefined {
  if (error instanceof RefusedNft) return undefined
  throw error
}

/** `tokenId` as REST names it: `token_id`. */
export const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

function snakeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [snakeCase(name), snakeKeys(one)]))
}

/** A number beyond all that JSON has is told as what it is: `null`, which it would be, is what was not given. */
const inWords = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
