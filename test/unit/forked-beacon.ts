import { ssz } from '@lodestar/types'
import { pubkeyOf } from './synthetic-chain.ts'
import { type NodeReply, type NodeRequestSeen, openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

// Beacon nodes over HTTP whose chains share a beginning: what they say of states and rewards tells whose answer it was.

export const SLOTS_PER_EPOCH = 32
const COMMITTEE_SEATS = 512
/** A UTC+8 day begins with slot 40. */
const GENESIS_TIME_SEC = 16 * 3_600 - 40 * 12
const FAR = '18446744073709551615'

export interface ForkBlock {
  readonly slot: number
  readonly root: string
  readonly parentRoot: string
  readonly bytes: Uint8Array
}

/** Blocks from slot 0 on, one in each slot; a fork has other blocks from a slot on. */
export interface Fork {
  /** Gwei by which every balance of it is more than 32 ETH. */
  readonly mark: number
  readonly blocks: readonly ForkBlock[]
}

export function makeFork(slots: number, mark: number, common: readonly ForkBlock[] = []): Fork {
  const blocks = [...common]
  for (let slot = common.length; slot < slots; slot++) {
    const signed = ssz.fulu.SignedBeaconBlock.defaultValue()
    signed.message.slot = slot
    signed.message.proposerIndex = slot % 4
    signed.message.stateRoot = new Uint8Array(32).fill(mark)
    signed.message.body.executionPayload.blockNumber = slot
    const parentRoot = blocks.at(-1)?.root ?? `0x${'00'.repeat(32)}`
    signed.message.parentRoot = Buffer.from(parentRoot.slice(2), 'hex')
    const root = `0x${Buffer.from(ssz.fulu.BeaconBlock.hashTreeRoot(signed.message)).toString('hex')}`
    blocks.push({ slot, root, parentRoot, bytes: ssz.fulu.SignedBeaconBlock.serialize(signed) })
  }
  return { mark, blocks }
}

const SPEC = {
  SECONDS_PER_SLOT: '12',
  SLOTS_PER_EPOCH: String(SLOTS_PER_EPOCH),
  DEPOSIT_CHAIN_ID: '7',
  ALTAIR_FORK_EPOCH: '0',
  BELLATRIX_FORK_EPOCH: '0',
  ELECTRA_FORK_EPOCH: '0',
  FULU_FORK_EPOCH: '0',
  SYNC_COMMITTEE_SIZE: String(COMMITTEE_SEATS),
  EPOCHS_PER_SYNC_COMMITTEE_PERIOD: '256',
  MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA: '4096',
}

type Flags = Readonly<Record<string, unknown>>

/** A node on a fork, as a test changes it while it is asked. */
export class ForkedNode {
  fork: Fork
  finalEpoch: number
  isAway = false
  /** What each kind of answer says of itself: the last part of its path, or `rewards`. */
  flags: (kind: string) => Flags = () => ({ execution_optimistic: false, finalized: true })
  /** The flags follow the data in JSON, as some nodes write them. */
  hasFlagsLast = false
  /** Answers other than the fork has them. */
  change: (path: string) => NodeReply | undefined = () => undefined
  readonly asked: string[] = []

  constructor(fork: Fork, finalEpoch: number) {
    this.fork = fork
    this.finalEpoch = finalEpoch
  }

  open(): Promise<SyntheticNode> {
    return openSyntheticNode((request) => {
      const path = request.path.replace(/^\/base/, '').replace(/[?&].*$/, '')
      if (this.isAway) return { reset: true }
      this.asked.push(path)
      return this.change(path) ?? this.#answer(path, request) ?? { status: 404, json: { code: 404, message: 'none' } }
    })
  }

  get checkpoint() {
    const block = this.fork.blocks[this.finalEpoch * SLOTS_PER_EPOCH]
    if (block === undefined) throw new Error('the fork does not reach its final epoch')
    return { epoch: this.finalEpoch, root: block.root }
  }

  #json(kind: string, data: unknown): NodeReply {
    const flags = this.flags(kind)
    return { json: this.hasFlagsLast ? { data, ...flags } : { ...flags, data } }
  }

  #block(id: string): ForkBlock | undefined {
    const { blocks } = this.fork
    return id.startsWith('0x') ? blocks.find(({ root }) => root === id) : blocks[Number(id)]
  }

  #answer(path: string, { body }: NodeRequestSeen): NodeReply | undefined {
    const parts = path.split('/')
    const kind = parts.at(-1) ?? ''
    if (kind === 'genesis') {
      const root = `0x${'11'.repeat(32)}`
      const genesis_fork_version = '0x00000000'
      return {
        json: { data: { genesis_time: String(GENESIS_TIME_SEC), genesis_validators_root: root, genesis_fork_version } },
      }
    }
    if (kind === 'spec') return { json: { data: SPEC } }
    if (kind === 'syncing') {
      const head_slot = String(this.fork.blocks.length)
      const rest = { sync_distance: '0', is_optimistic: false, el_offline: false, is_syncing: false }
      return { json: { data: { head_slot, ...rest } } }
    }
    if (kind === 'finality_checkpoints') {
      const finalized = { epoch: String(this.checkpoint.epoch), root: this.checkpoint.root }
      const flags = { ...this.flags(kind), finalized: false } // the state of the head is not final
      const data = { previous_justified: finalized, current_justified: finalized, finalized }
      return { json: { ...flags, data } }
    }
    if (path.startsWith('/eth/v2/beacon/blocks/')) {
      const found = this.#block(kind)
      return found && { body: found.bytes, headers: { 'eth-consensus-version': 'fulu' } }
    }
    if (kind === 'root') {
      const found = this.#block(parts.at(-2) ?? '')
      return found && this.#json(kind, { root: found.root })
    }
    return this.#figures(parts, body)
  }

  /** What states and rewards say: the same for all validators, and another gwei on each fork. */
  #figures(parts: readonly string[], body: string): NodeReply | undefined {
    const kind = parts.at(-1) ?? ''
    const given = body === '' ? [] : (JSON.parse(body) as readonly string[] | { readonly ids?: readonly string[] })
    const ids = 'ids' in given ? (given.ids ?? []) : (given as readonly string[])
    const { mark } = this.fork
    const balance = String(32_000_000_000 + mark)
    if (kind === 'validators')
      return this.#json(
        kind,
        ids.map(indexOf).map((index) => validatorJson(index, balance)),
      )
    if (kind === 'validator_balances')
      return this.#json(
        kind,
        ids.map((index) => ({ index, balance })),
      )
    if (kind === 'pending_deposits') {
      const flags = this.flags(kind)
      const headers = Object.entries(flags).map(([name, value]) => {
        return [name === 'finalized' ? 'eth-consensus-finalized' : 'eth-execution-optimistic', String(value)]
      })
      return { body: new Uint8Array(0), headers: { ...Object.fromEntries(headers), 'eth-consensus-version': 'fulu' } }
    }
    if (kind === 'sync_committees') {
      const validators = Array.from({ length: COMMITTEE_SEATS }, (_, seat) => String(seat + 100))
      return this.#json(kind, { validators, validator_aggregates: [] })
    }
    if (parts[5] === 'attestations') {
      const total_rewards = ids.map((validator_index) => {
        return { validator_index, head: '1', target: String(mark), source: '3', inactivity: '0' }
      })
      return this.#json('rewards', { ideal_rewards: [], total_rewards })
    }
    if (parts[5] === 'blocks') {
      const zeros = { sync_aggregate: '0', proposer_slashings: '0', attester_slashings: '0' }
      return this.#json('rewards', { proposer_index: '1', total: String(mark), attestations: String(mark), ...zeros })
    }
    return undefined
  }
}

function indexOf(id: string): number {
  return id.startsWith('0x') ? Number.parseInt(id.slice(2), 16) : Number(id)
}

function validatorJson(index: number, balance: string) {
  return {
    index: String(index),
    balance,
    status: 'active_ongoing',
    validator: {
      pubkey: pubkeyOf(index),
      withdrawal_credentials: `0x01${'00'.repeat(31)}`,
      effective_balance: '32000000000',
      slashed: false,
      activation_eligibility_epoch: '0',
      activation_epoch: '0',
      exit_epoch: FAR,
      withdrawable_epoch: FAR,
    },
  }
}
