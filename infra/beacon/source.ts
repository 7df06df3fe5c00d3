import {
  ChainNode,
  DEFAULT_LIMITS,
  type NodeAnswer,
  NodeGroup,
  type NodeLimits,
  type NodeRequest,
} from '../nodes/nodes.ts'
import type {
  AttestationRewards,
  Balances,
  BeaconBlock,
  BeaconChain,
  BeaconHead,
  BeaconSource,
  ChainNews,
  FinalizedCheckpoint,
  PendingDeposit,
  ProposerReward,
  SyncRewards,
  ValidatorIdentity,
  ValidatorSet,
  ValidatorStates,
} from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import {
  malformed,
  readBlockRewards,
  readFinality,
  readGenesis,
  readHeader,
  readIdentities,
  readPendingDeposits,
  readRoot,
  readSpec,
  readSyncCommittee,
  readSyncing,
  toNumber,
} from './answers.ts'
import { decodeBlock, decodeJsonBlock, decodePendingDeposits, parseFork, presetMatches } from './block.ts'
import { BlockCache } from './block-cache.ts'
import { watchEvents } from './event-stream.ts'
import { scanAttestationRewards, scanBalances, scanSyncRewards, scanValidators } from './tables.ts'
import { IDS_PER_REQUEST_MAX, PART_TO_ASK_ALL, ValidatorSets } from './validator-ids.ts'

const JSON_TYPE = 'application/json'
/** SSZ is smaller and decodes faster; a node that has none answers in JSON. */
const SSZ_OR_JSON = 'application/octet-stream;q=1.0,application/json;q=0.9'
/** The registry's size is looked for by asking which of these many evenly spaced indices exist. */
const SIZE_PROBES = 64
const INDEX_LIMIT = 2 ** 30

export interface BeaconSourceOptions {
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

/**
 * Opens the standard Beacon API of one or more nodes. Throws AppError: `config` for an address that is none,
 * `node_unreachable` when no node answers, `node_inconsistent` when two are on different chains.
 */
export async function openBeaconSource(options: BeaconSourceOptions): Promise<BeaconSource> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const nodes = options.urls.map((url, i) => new ChainNode(`beacon node ${i + 1}`, url, limits))
  const group = new NodeGroup({
    nodes,
    limits,
    log: options.log,
    identify: async (node) => {
      const { genesisValidatorsRoot, depositChainId } = await askChain(node)
      return `genesis validators root ${genesisValidatorsRoot}, deposit chain ${depositChainId}`
    },
  })
  try {
    await group.open()
    return new HttpBeaconSource(group, await group.ask(askChain), options.log)
  } catch (error) {
    await group[Symbol.asyncDispose]()
    throw error
  }
}

function get(path: string, accept = JSON_TYPE): NodeRequest {
  return { method: 'GET', path, accept }
}

function post(path: string, body: string): NodeRequest {
  return { method: 'POST', path, accept: JSON_TYPE, body }
}

/** The answer, where a 404 means that the node does not have it yet, or no longer. */
async function must(node: ChainNode, request: NodeRequest, what: string): Promise<NodeAnswer> {
  const answer = await node.get(request)
  if (answer === undefined) throw node.fault('node_lagging', `does not have ${what}`)
  return answer
}

async function askChain(node: ChainNode): Promise<BeaconChain> {
  const [genesisAnswer, specAnswer] = await Promise.all([
    must(node, get('/eth/v1/beacon/genesis'), 'the genesis'),
    must(node, get('/eth/v1/config/spec'), 'its configuration'),
  ])
  const genesis = readGenesis(genesisAnswer.body).data
  const values = readSpec(specAnswer.body).data
  const spec = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  const secondsPerSlot = spec.SECONDS_PER_SLOT ?? String(specNumber(spec, 'SLOT_DURATION_MS') / 1000)
  return {
    clock: {
      genesisTimeSec: toNumber(genesis.genesis_time),
      secondsPerSlot: toNumber(secondsPerSlot),
      slotsPerEpoch: specNumber(spec, 'SLOTS_PER_EPOCH'),
    },
    genesisValidatorsRoot: genesis.genesis_validators_root.toLowerCase(),
    depositChainId: specNumber(spec, 'DEPOSIT_CHAIN_ID'),
    depositContractAddress: (spec.DEPOSIT_CONTRACT_ADDRESS ?? '').toLowerCase(),
    spec,
  }
}

function specNumber(spec: Readonly<Record<string, string>>, name: string): number {
  const text = spec[name]
  if (text === undefined || !/^\d+$/.test(text)) throw malformed(`the config/spec answer has no number ${name}`)
  return toNumber(text)
}

class HttpBeaconSource implements BeaconSource {
  readonly #nodes: NodeGroup<ChainNode>
  readonly #chain: BeaconChain
  readonly #log: Log
  readonly #blocks = new BlockCache()
  readonly #sets = new ValidatorSets()
  readonly #sszBlocks: boolean
  #finalizedSlot = 0
  #registrySize: number | undefined
  /** Blocks that are being fetched, by id: two askers share one download. */
  readonly #fetching = new Map<string, Promise<BeaconBlock | undefined>>()

  constructor(nodes: NodeGroup<ChainNode>, chain: BeaconChain, log: Log) {
    this.#nodes = nodes
    this.#chain = chain
    this.#log = log
    this.#sszBlocks = presetMatches(chain.spec)
  }

  async chain(): Promise<BeaconChain> {
    return this.#chain
  }

  head(): Promise<BeaconHead> {
    return this.#nodes.ask(async (node) => {
      const { data } = readHeader((await must(node, get('/eth/v1/beacon/headers/head'), 'a head')).body)
      return { slot: toNumber(data.header.message.slot), root: data.root.toLowerCase() }
    })
  }

  async finalized(): Promise<FinalizedCheckpoint> {
    const { finalized } = await this.#nodes.ask(async (node) => {
      const path = '/eth/v1/beacon/states/head/finality_checkpoints'
      return readFinality((await must(node, get(path), 'finality')).body).data
    })
    const checkpoint = { epoch: toNumber(finalized.epoch), root: finalized.root.toLowerCase() }
    this.#finalizedSlot = Math.max(this.#finalizedSlot, checkpoint.epoch * this.#chain.clock.slotsPerEpoch)
    this.#blocks.markFinal(checkpoint.root)
    return checkpoint
  }

  async blockAt(slot: number): Promise<BeaconBlock | undefined> {
    const final = slot <= this.#finalizedSlot
    const known = final ? this.#blocks.atFinalSlot(slot) : undefined
    if (known !== undefined) return known ?? undefined
    const block = await this.#fetchBlock(
      String(slot),
      (found) => found.slot === slot,
      (node) => this.#isEmptySlot(node, slot),
    )
    if (block !== undefined && final) this.#blocks.putFinal(block)
    return block
  }

  async blockByRoot(root: string): Promise<BeaconBlock> {
    const known = this.#blocks.get(root)
    if (known !== undefined) return known
    const isAsked = (found: BeaconBlock) => found.root === root
    const block = await this.#fetchBlock(root, isAsked, async () => false)
    if (block === undefined) throw new Error('a block by root is there or the question has failed')
    return block
  }

  async #fetchBlock(
    id: string,
    isAsked: (block: BeaconBlock) => boolean,
    isEmpty: (node: ChainNode) => Promise<boolean>,
  ): Promise<BeaconBlock | undefined> {
    const running = this.#fetching.get(id)
    if (running !== undefined) return running
    const fetched = this.#nodes.ask(async (node) => {
      const answer = await node.get(get(`/eth/v2/beacon/blocks/${id}`, this.#sszBlocks ? SSZ_OR_JSON : JSON_TYPE))
      if (answer !== undefined) {
        const block = await this.#decode(node, id, answer)
        if (isAsked(block)) return block
        throw node.fault('node_inconsistent', `answered block ${id} with ${block.root} of slot ${block.slot}`)
      }
      if (await isEmpty(node)) return undefined
      throw node.fault('node_lagging', `does not have block ${id}`)
    })
    this.#fetching.set(id, fetched)
    try {
      const block = await fetched
      if (block !== undefined) this.#blocks.put(block)
      return block
    } finally {
      this.#fetching.delete(id)
    }
  }

  async #decode(node: ChainNode, id: string, { headers, body }: NodeAnswer): Promise<BeaconBlock> {
    if (!isJson(headers)) return decodeBlock(parseFork(headers['eth-consensus-version']), body)
    const { root, ...block } = decodeJsonBlock(body, this.#sszBlocks)
    if (root !== undefined) return { ...block, root }
    const answer = await must(node, get(`/eth/v1/beacon/blocks/${id}/root`), `the root of block ${id}`)
    return { ...block, root: readRoot(answer.body).data.root.toLowerCase() }
  }

  /**
   * A 404 tells of an empty slot only if the node's head is past the slot. While it is syncing another node is asked first;
   * where there is none, a block that the node lacks for another reason is found out by whoever asked: the next block's
   * parent root does not continue the block before.
   */
  async #isEmptySlot(node: ChainNode, slot: number): Promise<boolean> {
    const { data } = readSyncing((await must(node, get('/eth/v1/node/syncing'), 'its sync status')).body)
    return toNumber(data.head_slot) > slot && (!data.is_syncing || this.#nodes.nodes.length === 1)
  }

  async validators(slot: number, set: ValidatorSet): Promise<ValidatorStates> {
    const path = `/eth/v1/beacon/states/${slot}/validators`
    const request = (ids: string) => post(path, ids === '[]' ? '{}' : `{"ids":${ids}}`)
    return this.#table(slot, set, request, scanValidators)
  }

  async balances(slot: number, set: ValidatorSet): Promise<Balances> {
    const path = `/eth/v1/beacon/states/${slot}/validator_balances`
    return this.#table(slot, set, (ids) => post(path, ids), scanBalances)
  }

  async attestationRewards(epoch: number, set: ValidatorSet): Promise<AttestationRewards> {
    const path = `/eth/v1/beacon/rewards/attestations/${epoch}`
    const slot = (epoch + 1) * this.#chain.clock.slotsPerEpoch
    return this.#table(slot, set, (ids) => post(path, ids), scanAttestationRewards)
  }

  /** Many members of a committee or none: the answer has at most a row per seat, so all are asked for when there are many ids. */
  async syncRewards(blockRoot: string, set: ValidatorSet): Promise<SyncRewards> {
    const { chunks, wanted } = this.#sets.prepare(set)
    const ids = chunks.length === 1 && set.length <= SYNC_IDS_MAX ? (chunks[0] as string) : '[]'
    const request = post(`/eth/v1/beacon/rewards/sync_committee/${blockRoot}`, ids)
    return this.#nodes.ask(async (node) => {
      const { body } = await must(node, request, `sync rewards of block ${blockRoot}`)
      return scanSyncRewards([body], { wanted, rowsHint: set.length })
    })
  }

  /** Asks about a set in as many requests as its size needs; answers are scanned where a fault still leads to the next node. */
  async #table<Table>(
    slot: number,
    set: ValidatorSet,
    request: (ids: string) => NodeRequest,
    scan: (bodies: readonly Uint8Array[], options: { wanted: Uint8Array; rowsHint: number }) => Table,
  ): Promise<Table> {
    const { chunks, wanted } = this.#sets.prepare(set)
    const askAll = set.length > IDS_PER_REQUEST_MAX && set.length > PART_TO_ASK_ALL * (await this.#sizeOfRegistry(slot))
    return this.#nodes.ask(async (node) => {
      const bodies: Uint8Array[] = []
      for (const ids of askAll ? ['[]'] : chunks) {
        bodies.push((await must(node, request(ids), `the state of slot ${slot}`)).body)
      }
      return scan(bodies, { wanted, rowsHint: set.length + 1 })
    })
  }

  /** How many validators there are, found once by bisection: it only decides how to ask. */
  async #sizeOfRegistry(slot: number): Promise<number> {
    let low = 0
    let high = INDEX_LIMIT
    while (this.#registrySize === undefined) {
      const step = Math.ceil((high - low) / SIZE_PROBES)
      const probes = Uint32Array.from({ length: Math.ceil((high - low) / step) }, (_, i) => low + i * step)
      const found = (await this.balances(slot, probes)).validatorIndex.at(-1)
      if (found === undefined) this.#registrySize = low
      else [low, high] = [found, Math.min(high, found + step)]
      if (step === 1) this.#registrySize = low + 1
    }
    return this.#registrySize
  }

  async identify(slot: number, pubkeys: readonly string[]): Promise<readonly ValidatorIdentity[]> {
    const found: ValidatorIdentity[] = []
    for (let from = 0; from < pubkeys.length; from += IDS_PER_REQUEST_MAX) {
      const ids = pubkeys.slice(from, from + IDS_PER_REQUEST_MAX)
      const request = post(`/eth/v1/beacon/states/${slot}/validators`, JSON.stringify({ ids }))
      const answer = await this.#nodes.ask(async (node) => {
        return readIdentities((await must(node, request, `the state of slot ${slot}`)).body).data
      })
      const asked = new Set(ids)
      for (const { index, validator } of answer) {
        const pubkey = validator.pubkey.toLowerCase()
        const withdrawalCredentials = validator.withdrawal_credentials.toLowerCase()
        if (asked.has(pubkey)) found.push({ index: toNumber(index), pubkey, withdrawalCredentials })
      }
    }
    return found.sort((a, b) => a.index - b.index)
  }

  pendingDeposits(slot: number): Promise<readonly PendingDeposit[]> {
    const request = get(`/eth/v1/beacon/states/${slot}/pending_deposits`, SSZ_OR_JSON)
    return this.#nodes.ask(async (node) => {
      const { headers, body } = await must(node, request, `the state of slot ${slot}`)
      if (!isJson(headers)) return decodePendingDeposits(body)
      return readPendingDeposits(body).data.map((deposit) => ({
        pubkey: deposit.pubkey.toLowerCase(),
        withdrawalCredentials: deposit.withdrawal_credentials.toLowerCase(),
        amountGwei: BigInt(deposit.amount),
        signature: deposit.signature.toLowerCase(),
        slot: toNumber(deposit.slot),
      }))
    })
  }

  proposerReward(blockRoot: string): Promise<ProposerReward> {
    return this.#nodes.ask(async (node) => {
      const answer = await must(
        node,
        get(`/eth/v1/beacon/rewards/blocks/${blockRoot}`),
        `rewards of block ${blockRoot}`,
      )
      const { data } = readBlockRewards(answer.body)
      return {
        attestationsGwei: BigInt(data.attestations),
        syncAggregateGwei: BigInt(data.sync_aggregate),
        proposerSlashingsGwei: BigInt(data.proposer_slashings),
        attesterSlashingsGwei: BigInt(data.attester_slashings),
      }
    })
  }

  syncCommittee(epoch: number): Promise<Uint32Array> {
    const slot = epoch * this.#chain.clock.slotsPerEpoch
    return this.#nodes.ask(async (node) => {
      const path = `/eth/v1/beacon/states/${slot}/sync_committees?epoch=${epoch}`
      const { data } = readSyncCommittee((await must(node, get(path), `the state of slot ${slot}`)).body)
      return Uint32Array.from(data.validators, toNumber)
    })
  }

  watch(onNews: (news: ChainNews) => void, signal: AbortSignal): Promise<void> {
    return watchEvents({ nodes: this.#nodes.nodes, log: this.#log, onNews, signal })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#nodes[Symbol.asyncDispose]()
  }
}

/** A sync committee has 512 seats: beyond some hundreds of ids its whole answer is smaller than the question. */
const SYNC_IDS_MAX = 256

function isJson(headers: NodeAnswer['headers']): boolean {
  return String(headers['content-type'] ?? '').includes('json')
}
