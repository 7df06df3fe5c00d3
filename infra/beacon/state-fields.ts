import { ssz } from '@lodestar/types'
import type { ChainNode } from '../nodes/nodes.ts'
import type { QueueFields } from '../ports/beacon-source.ts'
import { pathOf } from './route.ts'
import { DEBUG } from './routes.ts'

// The beginning of a serialized state has its fields of fixed length, and where those of variable length lie. Of mainnet's state, which
// is some 300 MB, that is the first 2.8 MB: the rest is not read.

/** Forks whose states have these queues. */
const FORKS = ['electra', 'fulu', 'gloas'] as const
type Fork = (typeof FORKS)[number]

const OFFSET_BYTES = 4

interface FixedPart {
  readonly bytes: number
  /** Where a field begins, by its name. */
  readonly at: ReadonlyMap<string, number>
}

function fixedPartOf(fork: Fork): FixedPart {
  const at = new Map<string, number>()
  let bytes = 0
  const fields: Readonly<Record<string, { readonly fixedSize: number | null }>> = ssz[fork].BeaconState.fields
  for (const [name, { fixedSize }] of Object.entries(fields)) {
    at.set(name, bytes)
    bytes += fixedSize ?? OFFSET_BYTES
  }
  return { bytes, at }
}

const FIXED_PARTS: ReadonlyMap<string, FixedPart> = new Map(FORKS.map((fork) => [fork, fixedPartOf(fork)]))
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

function readFields({ at }: FixedPart, bytes: Uint8Array): QueueFields & { readonly slot: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const amount = (name: string) => view.getBigUint64(required(at, name), true)
  return {
    slot: Number(amount('slot')),
    nextWithdrawalValidatorIndex: Number(amount('nextWithdrawalValidatorIndex')),
    depositBalanceToConsumeGwei: amount('depositBalanceToConsume'),
    exitBalanceToConsumeGwei: amount('exitBalanceToConsume'),
    earliestExitEpoch: Number(amount('earliestExitEpoch')),
  }
}

function required(at: ReadonlyMap<string, number>, name: string): number {
  const found = at.get(name)
  if (found === undefined) throw new Error(`states have no field ${name}`)
  return found
}
