import { ssz } from '@lodestar/types'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { Asked, NodeFault, Told, Truth } from './faulty-node.ts'
import { json } from './replies.ts'

// A node on a branch that left the chain: its blocks say the same, have other ancestors and never become final.

const BLOCK = /^\/eth\/v2\/beacon\/blocks\/(\w+)$/
const BLOCK_ROOT = /^\/eth\/v1\/beacon\/blocks\/(\w+)\/root$/
const REWARDS = /^(\/eth\/v1\/beacon\/rewards\/(?:blocks|sync_committee)\/)(0x\w+)$/
const STATE = /^\/eth\/v1\/beacon\/states\/(\d+)\//
const FINALITY = /\/finality_checkpoints$/
const HEAD = /\/headers\/head$/
const SSZ_ONLY = 'application/octet-stream'

interface ForkBlock {
  readonly slot: number
  readonly root: string
  readonly trueRoot: string
  readonly told: Told
}

/**
 * What a node says whose chain left the true one with the first block from `slot` on; its finality is that of `finalEpoch`, which
 * may lie behind: then it calls its own branch final.
 */
export function forkFrom(slot: number, finalEpoch: number): NodeFault {
  const fork = new Fork(slot, finalEpoch * 32 > slot)
  return { of: () => true, reply: (asked, truth) => answer(fork, finalEpoch, asked, truth) }
}

async function answer(fork: Fork, finalEpoch: number, asked: Asked, truth: Truth): Promise<Told> {
  const { path } = asked
  const blockId = (BLOCK.exec(path) ?? BLOCK_ROOT.exec(path))?.[1]
  if (blockId !== undefined) {
    const block = await fork.find(blockId, truth)
    if (block === 'true') return truth()
    if (block === undefined) return json(404, { code: 404, message: 'Block not found' })
    return BLOCK.test(path) ? block.told : json(200, { ...fork.flags, data: { root: block.root } })
  }
  const rewards = REWARDS.exec(path)
  if (rewards !== null) {
    const [, route = '', root = ''] = rewards
    const block = await fork.find(root, truth)
    if (block === undefined) return json(404, { code: 404, message: 'Block not found' })
    return block === 'true' ? truth() : truth(route + block.trueRoot)
  }
  if (HEAD.test(path)) return withHead(await truth(), fork, truth)
  if (FINALITY.test(path)) {
    const checkpoint = { epoch: String(finalEpoch), root: await fork.checkpointRoot(finalEpoch, truth) }
    const data = { previous_justified: checkpoint, current_justified: checkpoint, finalized: checkpoint }
    return json(200, { ...NOT_FINAL, data })
  }
  const told = await truth()
  const state = STATE.exec(path)
  return state !== null && Number(state[1]) >= fork.slot && !fork.flags.finalized ? notFinal(told) : told
}

const NOT_FINAL = { execution_optimistic: false, finalized: false }

function notFinal(told: Told): Told {
  const headers = { ...told.headers, 'eth-consensus-finalized': 'false' }
  const text = Buffer.from(told.body).toString('latin1')
  const isJson = told.headers['content-type']?.includes('json') === true
  return {
    ...told,
    headers,
    body: isJson ? Buffer.from(text.replace('"finalized":true', '"finalized":false'), 'latin1') : told.body,
  }
}

async function withHead(told: Told, fork: Fork, truth: Truth): Promise<Told> {
  const head = JSON.parse(Buffer.from(told.body).toString())
  const block = await fork.find(head.data.header.message.slot, truth)
  if (block === undefined || block === 'true') return told
  head.data.root = block.root
  return json(200, head)
}

class Fork {
  readonly slot: number
  /** What it says of its own blocks. */
  readonly flags: typeof NOT_FINAL
  readonly #bySlot = new Map<number, ForkBlock>()
  readonly #byRoot = new Map<string, ForkBlock>()
  /** True roots that the branch has left behind. */
  readonly #left = new Set<string>()
  #next: number
  #making: Promise<unknown> = Promise.resolve()

  constructor(slot: number, finalized: boolean) {
    this.slot = slot
    this.flags = { ...NOT_FINAL, finalized }
    this.#next = slot
  }

  /** The branch's block of a slot or root; `true` where the branch shares it, undefined where it has none. */
  async find(id: string, truth: Truth): Promise<ForkBlock | 'true' | undefined> {
    if (!id.startsWith('0x')) {
      const slot = Number(id)
      if (slot < this.slot) return 'true'
      await this.#grow(slot, truth)
      return this.#bySlot.get(slot)
    }
    const known = this.#byRoot.get(id)
    if (known !== undefined || this.#left.has(id)) return known
    const told = await truth(`/eth/v2/beacon/blocks/${id}`, SSZ_ONLY)
    if (told.status !== 200) return undefined
    return slotOf(told) < this.slot ? 'true' : undefined
  }

  async checkpointRoot(epoch: number, truth: Truth): Promise<string> {
    for (let slot = epoch * 32; ; slot--) {
      const block = await this.find(String(slot), truth)
      if (typeof block === 'object') return block.root
      if (block === undefined) continue
      const { status, body } = await truth(`/eth/v1/beacon/blocks/${slot}/root`)
      if (status === 200) return JSON.parse(Buffer.from(body).toString()).data.root
    }
  }

  #grow(slot: number, truth: Truth): Promise<unknown> {
    this.#making = this.#making.then(async () => {
      while (this.#next <= slot) await this.#make(this.#next++, truth)
    })
    return this.#making
  }

  async #make(slot: number, truth: Truth): Promise<void> {
    const told = await truth(`/eth/v2/beacon/blocks/${slot}`, SSZ_ONLY)
    if (told.status !== 200) return
    const trueRoot = hexOf(ssz.fulu.BeaconBlock.hashTreeRoot(ssz.fulu.SignedBeaconBlock.deserialize(told.body).message))
    const signed = ssz.fulu.SignedBeaconBlock.deserialize(told.body) // another one: it keeps the roots of its parts
    const parent = [...this.#bySlot.values()].at(-1)
    if (parent !== undefined) signed.message.parentRoot = Buffer.from(parent.root.slice(2), 'hex')
    signed.message.body.graffiti = Buffer.from('another branch'.padEnd(32))
    const root = hexOf(ssz.fulu.BeaconBlock.hashTreeRoot(signed.message))
    const body = ssz.fulu.SignedBeaconBlock.serialize(signed)
    const headers = { ...told.headers, 'eth-consensus-finalized': String(this.flags.finalized) }
    const block = { slot, root, trueRoot, told: { ...told, headers, body } }
    this.#left.add(trueRoot)
    this.#bySlot.set(slot, block)
    this.#byRoot.set(root, block)
  }
}

function slotOf({ body }: Told): number {
  return ssz.fulu.SignedBeaconBlock.deserialize(body).message.slot
}
