import type { ForkName } from '@lodestar/params'
import { ssz, sszTypesFor } from '@lodestar/types'
import { hexOf } from '../../schemas/eth/hex.ts'
import { type NodeReply, type NodeRequestSeen, openSyntheticNode, type SyntheticNode } from '../unit/synthetic-node.ts'
import { configOf, genesisOf, type HistoryEpoch, type HistoryOptions, randomHistory } from './random-history.ts'

interface ServedBlock {
  readonly root: string
  readonly slot: number
  readonly fork: string
  readonly bytes: Uint8Array
}

interface ServedState {
  readonly fork: string
  readonly bytes: Uint8Array
}

/** A random history as a beacon node tells it over HTTP: blocks and whole states as SSZ, no rewards. The last epoch is not final. */
export class ServedHistory {
  readonly epochs: readonly HistoryEpoch[]
  /** Of the last state's validators, by index. */
  readonly pubkeys: readonly string[]
  readonly #spec: Readonly<Record<string, string>>
  readonly #slotsPerEpoch: number
  readonly #genesis: ReturnType<typeof ssz.altair.BeaconState.deserialize>
  readonly #blocks: ReadonlyMap<string, ServedBlock>
  /** By slot: that of the genesis, and the last of each epoch. */
  readonly #states: ReadonlyMap<number, ServedState>

  constructor(options: HistoryOptions) {
    this.#spec = configOf(options)
    this.#slotsPerEpoch = Number(this.#spec.SLOTS_PER_EPOCH)
    this.epochs = [...randomHistory(options)]
    const genesis = genesisOf(options)
    this.#genesis = ssz.altair.BeaconState.deserialize(genesis)
    const signed = ssz.altair.SignedBeaconBlock.defaultValue()
    signed.message.stateRoot = ssz.altair.BeaconState.hashTreeRoot(this.#genesis)
    const first = { fork: 'altair', slot: 0, bytes: ssz.altair.SignedBeaconBlock.serialize(signed) }
    const blocks = [first, ...this.epochs.flatMap((epoch) => epoch.blocks)].map(toServed)
    this.#blocks = new Map(blocks.flatMap((block) => [block.root, String(block.slot)].map((id) => [id, block])))
    this.#states = new Map([
      [0, { fork: 'altair', bytes: genesis }],
      ...this.epochs.map(({ epoch, fork, state }) => {
        return [(epoch + 1) * this.#slotsPerEpoch - 1, { fork, bytes: state }] as const
      }),
    ])
    this.pubkeys = this.#registry(this.epochs.at(-1)?.epoch ?? 0).map(({ pubkey }) => hexOf(pubkey))
  }

  /** How many epochs are final, from 0 on. */
  get finalEpochs(): number {
    return this.epochs.length - 1
  }

  open(): Promise<SyntheticNode> {
    return openSyntheticNode((request) => {
      const path = request.path.replace(/^\/base/, '').replace(/[?&].*$/, '')
      return this.#answer(path, request) ?? { status: 404, json: { code: 404, message: 'none' } }
    })
  }

  #answer(path: string, { body }: NodeRequestSeen): NodeReply | undefined {
    const parts = path.split('/')
    const [kind = '', id = ''] = [parts.at(-1), parts.at(-2)]
    const flags = { execution_optimistic: false, finalized: true }
    if (kind === 'genesis') return { json: { data: this.#genesisJson() } }
    if (kind === 'spec') return { json: { data: this.#spec } }
    if (kind === 'syncing') {
      const head_slot = String(this.epochs.length * this.#slotsPerEpoch - 1)
      const rest = { sync_distance: '0', is_optimistic: false, el_offline: false, is_syncing: false }
      return { json: { data: { head_slot, ...rest } } }
    }
    if (kind === 'finality_checkpoints') {
      const finalized = {
        epoch: String(this.finalEpochs),
        root: this.#blockUpTo(this.finalEpochs * this.#slotsPerEpoch),
      }
      const data = { previous_justified: finalized, current_justified: finalized, finalized }
      return { json: { ...flags, finalized: false, data } }
    }
    if (path.startsWith('/eth/v2/beacon/blocks/')) return asSsz(this.#blocks.get(kind))
    if (path.startsWith('/eth/v2/debug/beacon/states/')) return asSsz(this.#states.get(Number(kind)))
    if (kind === 'root') {
      const found = this.#blocks.get(id === 'genesis' ? '0' : id)
      return found && { json: { ...flags, data: { root: found.root } } }
    }
    if (kind === 'validators') {
      const { ids } = JSON.parse(body) as { readonly ids: readonly string[] }
      return {
        json: { ...flags, data: this.#validatorsJson(Math.floor(Number(id) / this.#slotsPerEpoch), new Set(ids)) },
      }
    }
    return undefined
  }

  #genesisJson() {
    return {
      genesis_time: String(this.#genesis.genesisTime),
      genesis_validators_root: hexOf(this.#genesis.genesisValidatorsRoot),
      genesis_fork_version: this.#spec.GENESIS_FORK_VERSION,
    }
  }

  #blockUpTo(slot: number): string | undefined {
    for (let at = slot; at >= 0; at--) {
      const block = this.#blocks.get(String(at))
      if (block !== undefined) return block.root
    }
    return undefined
  }

  #registry(epoch: number) {
    const { fork, state } = this.epochs[epoch] as HistoryEpoch
    return sszTypesFor(fork as ForkName).BeaconState.deserialize(state).validators
  }

  #validatorsJson(epoch: number, pubkeys: ReadonlySet<string>) {
    return this.#registry(epoch).flatMap((validator, index) => {
      if (!pubkeys.has(hexOf(validator.pubkey))) return []
      const status = 'active_ongoing' // nobody looks at it
      return [{ index: String(index), balance: '0', status, validator: ssz.phase0.Validator.toJson(validator) }]
    })
  }
}

function toServed({ fork, slot, bytes }: { fork: string; slot: number; bytes: Uint8Array }): ServedBlock {
  const types = sszTypesFor(fork as ForkName)
  const { message } = types.SignedBeaconBlock.deserialize(bytes)
  return { fork, slot, bytes, root: hexOf(types.BeaconBlock.hashTreeRoot(message)) }
}

function asSsz(found: ServedBlock | ServedState | undefined): NodeReply | undefined {
  return found && { body: found.bytes, headers: { 'eth-consensus-version': found.fork } }
}
