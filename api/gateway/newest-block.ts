import { probedValue } from '../../schemas/protocols/probe-value.ts'
import type { Probe, Service } from '../../schemas/protocols/protocol.ts'
import type { Call, Calls } from './calls.ts'

// Which questions are for the newest block. They are those by which nodes are probed for it: what is answered to others tells more than that.

interface AskedOfNode {
  /** As the node has it, with its query. */
  readonly path: string
  /** Undefined: it is a native request. */
  readonly read?: Calls | undefined
  readonly body?: Buffer | undefined
}

/** What tells the newest block in an answer; undefined where the question is another one, or several. */
export function headProbeOf({ head }: Service, { path, read, body }: AskedOfNode): Probe | undefined {
  if (head === undefined || head.path !== path) return undefined
  const { method, params = [] } = (head.body ?? {}) as { readonly method?: string; readonly params?: unknown }
  if (read === undefined || body === undefined) return method === undefined ? head : undefined
  const [call] = read.calls
  if (read.isBatch || call === undefined || call.method !== method) return undefined
  return hasParams(body, call, params) ? head : undefined
}

/** None, or those of the probe. */
function hasParams(body: Buffer, { params }: Call, wanted: unknown): boolean {
  if (params === undefined || params.to - params.from <= '[]'.length) return true
  return body.toString('utf8', params.from, params.to) === JSON.stringify(wanted)
}

/** The newest block, as an answer tells it; undefined where it does not. */
export function newestBlockIn(answer: Buffer, probe: Probe): number | undefined {
  try {
    const value = probedValue(JSON.parse(answer.toString()), probe)
    return value === undefined ? undefined : Number(value)
  } catch {
    // What is no JSON tells no block.
    return undefined
  }
}
