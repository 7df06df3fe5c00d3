import type { ChainNode, NodeRequest } from '../nodes/nodes.ts'
import type {
  AttestationRewards,
  Balances,
  SyncRewards,
  ValidatorSet,
  ValidatorStates,
} from '../ports/beacon-source.ts'
import { refuseOptimistic } from './answer-flags.ts'
import { missing, pathOf } from './route.ts'
import { BEACON } from './routes.ts'
import {
  type OpenTable,
  type Scan,
  scanAttestationRewards,
  scanBalances,
  scanSyncRewards,
  scanValidators,
} from './tables.ts'
import { IDS_PER_REQUEST_MAX, idsPerRequest, isAllCheaper, ROW_BYTES, ValidatorSets } from './validator-ids.ts'

/** The registry's size is looked for by asking which of these many evenly spaced indices exist. */
const SIZE_PROBES = 64
/**
 * Where they are looked for first: mainnet's registry has some two million; later twice as far as the registry went. A question takes a
 * byte for each index up to its highest, so a higher limit is tried only where validators are found up to the lower one.
 */
const INDEX_LIMIT = 2 ** 22
const INDEX_LIMIT_FACTOR = 16
/** A sync committee has 512 seats: beyond some hundreds of ids its whole answer is smaller than the question. */
const SYNC_IDS_MAX = 256
/** The ids that ask for everybody. */
const ALL = '[]'

interface TableQuestion<Table> {
  /** The state after this slot knows how large the registry is. */
  readonly slot: number
  readonly kind: string
  readonly what: string
  readonly rowBytes: number
  readonly request: (ids: string) => NodeRequest
  readonly scan: Scan<Table>
}

interface DutyEpoch {
  readonly epoch: number
  /** A slot of the epoch after, by whose state the registry holds everybody who has a reward. */
  readonly slot: number
}

/** Asks one of the nodes that may be asked, then the next; `kind` as `NodeGroup.ask` has it. */
export type Ask = <Answer>(kind: string, question: (node: ChainNode) => Promise<Answer>) => Promise<Answer>

/**
 * Answers with a row per validator about what is final. A set is asked about in as many requests as its size needs, all at once where that is
 * cheaper; no answer may be expected to be larger than `bodyBytesMax`. The bytes are scanned where a fault still leads to the
 * next node.
 */
export class WideTables {
  readonly #bodyBytesMax: number
  readonly #sets = new ValidatorSets()
  #registrySize: number | undefined
  /** See INDEX_LIMIT. */
  #indexLimit = INDEX_LIMIT

  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax
  }

  validators(ask: Ask, slot: number, set: ValidatorSet): Promise<ValidatorStates> {
    const path = pathOf(BEACON.postStateValidators, { stateId: slot })
    const request = (ids: string) => post(path, ids === ALL ? '{}' : `{"ids":${ids}}`)
    const what = `the state of slot ${slot}`
    return this.#table(ask, set, {
      slot,
      kind: 'states',
      what,
      rowBytes: ROW_BYTES.validators,
      request,
      scan: scanValidators,
    })
  }

  balances(ask: Ask, slot: number, set: ValidatorSet): Promise<Balances> {
    const path = pathOf(BEACON.postStateValidatorBalances, { stateId: slot })
    const request = (ids: string) => post(path, ids)
    const what = `the state of slot ${slot}`
    return this.#table(ask, set, {
      slot,
      kind: 'balances',
      what,
      rowBytes: ROW_BYTES.balances,
      request,
      scan: scanBalances,
    })
  }

  attestationRewards(ask: Ask, { epoch, slot }: DutyEpoch, set: ValidatorSet): Promise<AttestationRewards> {
    const path = pathOf(BEACON.getAttestationsRewards, { epoch })
    const request = (ids: string) => post(path, ids)
    const what = `attestation rewards of epoch ${epoch}`
    return this.#table(ask, set, {
      slot,
      kind: 'attestation rewards',
      what,
      rowBytes: ROW_BYTES.attestationRewards,
      request,
      scan: scanAttestationRewards,
    })
  }

  /** Many members of a committee or none: the answer has at most a row per seat, so all are asked for when there are many ids. */
  syncRewards(ask: Ask, blockRoot: string, set: ValidatorSet): Promise<SyncRewards> {
    const [ids = ALL] = set.length <= SYNC_IDS_MAX ? this.#sets.chunks(set, SYNC_IDS_MAX) : [ALL]
    const request = post(pathOf(BEACON.getSyncCommitteeRewards, { blockId: blockRoot }), ids)
    const open = () => scanSyncRewards({ wanted: this.#sets.wanted(set), rowsHint: set.length })
    return ask('sync rewards', (node) => readTable(node, `sync rewards of block ${blockRoot}`, [request], open()))
  }

  async #table<Table>(ask: Ask, set: ValidatorSet, question: TableQuestion<Table>): Promise<Table> {
    const { kind, what, rowBytes, request, scan } = question
    const chunks = (await this.#isAllCheaper(ask, set, question))
      ? [ALL]
      : this.#sets.chunks(set, idsPerRequest(rowBytes, this.#bodyBytesMax))
    const open = () => scan({ wanted: this.#sets.wanted(set), rowsHint: set.length + 1 })
    return ask(kind, (node) => readTable(node, what, chunks.map(request), open()))
  }

  async #isAllCheaper(ask: Ask, set: ValidatorSet, { slot, rowBytes }: TableQuestion<unknown>): Promise<boolean> {
    if (set.length <= IDS_PER_REQUEST_MAX) return false
    const registrySize = await this.#sizeOfRegistry(ask, slot)
    return isAllCheaper(set, { registrySize, rowBytes, bodyBytesMax: this.#bodyBytesMax })
  }

  /** It only decides how to ask, so it is found once. */
  async #sizeOfRegistry(ask: Ask, slot: number): Promise<number> {
    this.#registrySize ??= await this.registrySize(ask, slot)
    return this.#registrySize
  }

  /** How many validators the state after a slot has, found by bisection in some four questions. */
  async registrySize(ask: Ask, slot: number): Promise<number> {
    const size = await this.#findSize(ask, slot)
    this.#indexLimit = Math.max(SIZE_PROBES, 2 * size)
    return size
  }

  async #findSize(ask: Ask, slot: number): Promise<number> {
    let low = 0
    let limit = this.#indexLimit
    let high = limit
    for (;;) {
      const step = Math.ceil((high - low) / SIZE_PROBES)
      const probes = Uint32Array.from({ length: Math.ceil((high - low) / step) }, (_, i) => low + i * step)
      const found = (await this.balances(ask, slot, probes)).validatorIndex.at(-1)
      if (found === undefined) return low
      if (found + step >= limit) {
        low = found
        limit *= INDEX_LIMIT_FACTOR
        high = limit
        continue
      }
      if (step === 1) return found + 1
      low = found
      high = Math.min(high, found + step)
    }
  }
}

/** Asks one after the other, and reads the answers while they arrive. */
async function readTable<Table>(
  node: ChainNode,
  what: string,
  requests: readonly NodeRequest[],
  table: OpenTable<Table>,
): Promise<Table> {
  for (const request of requests) {
    if (!(await node.read(request, (piece) => table.push(piece)))) missing(node, what)
    refuseOptimistic(node, what, table.end())
  }
  return table.columns()
}

function post(path: string, body: string): NodeRequest {
  return { method: 'POST', path, accept: 'application/json', body }
}
