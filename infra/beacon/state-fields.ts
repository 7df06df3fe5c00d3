import type { ChainNode } from '../nodes/nodes.ts'
import type { QueueFields } from '../ports/beacon-source.ts'
import { pathOf } from './route.ts'
import { DEBUG } from './routes.ts'
import { fieldAt, type StateLayout, stateLayout } from './state-layout.ts'

// Of mainnet's state, which is some 300 MB, the fixed part is the first 2.8 MB: the rest is not read.

/** Forks whose states have these queues. */
const FORKS = ['electra', 'fulu', 'gloas'] as const

const FIXED_PARTS = new Map(FORKS.map((fork) => [fork as string, stateLayout(fork)]))
const FIXED_BYTES_MAX = Math.max(...[...FIXED_PARTS.values()].map(({ bytes }) => bytes))

/**
 * The fields of the state after a slot's block; undefined where the node has no such route, does not write it as SSZ, or is of a fork
 * that is not known here. Throws AppError of a node fault. Only for chains of our preset: others have other lengths.
 */
export async function askQueueFields(node: ChainNode, slot: number): Promise<QueueFields | undefined> {
  const path = pathOf(DEBUG.getStateV2, { stateId: slot })
  const request = { method: 'GET', path, accept: 'application/octet-stream' } as const
  const answer = await node.readFirst(request, FIXED_BYTES_MAX)
  if (answer === undefined || !String(answer.headers['content-type'] ?? '').includes('octet-stream')) return undefined
  const part = FIXED_PARTS.get(String(answer.headers['eth-consensus-version'] ?? ''))
  if (part === undefined) return undefined
  if (answer.body.length < part.bytes) throw node.fault('node_malformed', `told a state of ${answer.body.length} bytes`)
  const fields = readFields(part, answer.body)
  if (fields.slot === slot) return fields
  throw node.fault('node_inconsistent', `answered the state of slot ${slot} with that of slot ${fields.slot}`)
}

function readFields(layout: StateLayout, bytes: Uint8Array): QueueFields & { readonly slot: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const amount = (name: string) => view.getBigUint64(fieldAt(layout, name), true)
  return {
    slot: Number(amount('slot')),
    nextWithdrawalValidatorIndex: Number(amount('nextWithdrawalValidatorIndex')),
    depositBalanceToConsumeGwei: amount('depositBalanceToConsume'),
    exitBalanceToConsumeGwei: amount('exitBalanceToConsume'),
    earliestExitEpoch: Number(amount('earliestExitEpoch')),
  }
}
