import { ssz } from '@lodestar/types'
import type { NodeLimits } from '../../infra/nodes/nodes.ts'
import type { BeaconSource, ChainNews } from '../../infra/ports/beacon-source.ts'
import { type NodeReply, type NodeRequestSeen, openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

// A beacon node whose answers a test decides, on a chain that it says is its own.

export const GENESIS_ROOT = `0x${'11'.repeat(32)}`
export const FAST: Partial<NodeLimits> = { retryDelayMs: 1, headersTimeoutMs: 300, bodyTimeoutMs: 300, restMs: 60_000 }

const finalBlock = ssz.fulu.SignedBeaconBlock.defaultValue()
finalBlock.message.slot = 3_200
const FINAL_ROOT = `0x${Buffer.from(ssz.fulu.BeaconBlock.hashTreeRoot(finalBlock.message)).toString('hex')}`
/** A checkpoint whose block every such node holds, unless the test says otherwise. */
export const CHECKPOINT = { epoch: 100, root: FINAL_ROOT, toldBy: 0 }
export const FINAL_ROOT_PATH = `/eth/v1/beacon/blocks/${finalBlock.message.slot}/root`

export type Answers = (path: string, request: NodeRequestSeen) => NodeReply | undefined

export function chainAnswers(path: string, genesisRoot: string): NodeReply {
  if (path === '/eth/v1/beacon/genesis') {
    const genesis_fork_version = '0x00000000'
    return { json: { data: { genesis_time: '1000', genesis_validators_root: genesisRoot, genesis_fork_version } } }
  }
  if (path === '/eth/v1/config/spec') {
    return {
      json: { data: { SECONDS_PER_SLOT: '12', SLOTS_PER_EPOCH: '32', DEPOSIT_CHAIN_ID: '7', BLOB_SCHEDULE: [] } },
    }
  }
  if (path === '/eth/v1/node/syncing') return syncingAnswer(false)
  if (path === FINAL_ROOT_PATH) return { json: { data: { root: FINAL_ROOT } } }
  if (path === `/eth/v2/beacon/blocks/${FINAL_ROOT}`) {
    const body = ssz.fulu.SignedBeaconBlock.serialize(finalBlock)
    return { body, headers: { 'eth-consensus-version': 'fulu' } }
  }
  return { status: 404, json: { code: 404, message: 'not found' } }
}

export function syncingAnswer(isSyncing: boolean): NodeReply {
  const data = { head_slot: '1000', sync_distance: '0', is_optimistic: false, el_offline: false }
  return { json: { data: { ...data, is_syncing: isSyncing } } }
}

export function openNode(answers: Answers = () => undefined, genesisRoot = GENESIS_ROOT): Promise<SyntheticNode> {
  return openSyntheticNode((request) => {
    const path = request.path.replace(/^\/base/, '').replace(/[?&]key=hidden$/, '')
    return answers(path, request) ?? chainAnswers(path, genesisRoot)
  })
}

export const headerJson = (changes: Readonly<Record<string, unknown>> = {}) => {
  const roots = { parent_root: GENESIS_ROOT, state_root: GENESIS_ROOT, body_root: GENESIS_ROOT }
  const message = { slot: '99', proposer_index: '1', ...roots, ...changes }
  return { data: { root: GENESIS_ROOT, canonical: true, header: { message, signature: `0x${'00'.repeat(96)}` } } }
}
export const headerAnswer: NodeReply = { json: headerJson() }
export const onHead =
  (reply: NodeReply): Answers =>
  (path) =>
    path === '/eth/v1/beacon/headers/head' ? reply : undefined

const eventText = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
export const headEvent = (slot: number, block: string) =>
  eventText('head', {
    slot: String(slot),
    block,
    state: GENESIS_ROOT,
    epoch_transition: false,
    previous_duty_dependent_root: GENESIS_ROOT,
    current_duty_dependent_root: GENESIS_ROOT,
    execution_optimistic: false,
  })
export const finalizedEvent = (epoch: number, block: string) =>
  eventText('finalized_checkpoint', { block, state: GENESIS_ROOT, epoch: String(epoch), execution_optimistic: false })

/** A node whose nth event stream says the nth text; all but the last then end. */
export function openStreams(texts: readonly string[]) {
  let streams = 0
  return openSyntheticNode(({ path }, response) => {
    if (!path.startsWith('/base/eth/v1/events')) {
      return chainAnswers(path.replace('/base', '').split('?')[0] ?? '', GENESIS_ROOT)
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(texts[streams++] ?? '')
    if (streams < texts.length) response.end()
    return undefined
  })
}

/** What a source announces first. */
export async function newsOf(source: BeaconSource, count: number): Promise<readonly ChainNews[]> {
  const stop = new AbortController()
  const news: ChainNews[] = []
  await source.watch((one) => {
    news.push(one)
    if (news.length === count) stop.abort()
  }, stop.signal)
  return news
}
