import type { NetworkStatus } from '../../infra/ports/upstreams.ts'
import { type NetworkOptions, openUpstreams, type UpstreamsOptions } from '../../infra/upstreams/upstreams.ts'
import { pause } from '../../schemas/wait.ts'

/** So long nodes that do not answer are asked again: longer than one is given for an answer. */
const ANSWERED_MS_MAX = 10_000
/** Between two probes of each. */
const PROBE_MS = 1_000
const LOOK_MS = 20

/**
 * Asks the upstreams as the gateway does, from this process, and tells the networks of which none is well. That a node is behind is not
 * found where it is its network's only one.
 */
export async function findUnwell(
  networks: readonly NetworkOptions[],
  { log, secret, signal }: Pick<UpstreamsOptions, 'log' | 'secret'> & { readonly signal: AbortSignal },
  waitMsMax = ANSWERED_MS_MAX,
): Promise<readonly NetworkStatus[]> {
  await using open = openUpstreams({ networks, log, secret, probeMs: PROBE_MS })
  const endMs = performance.now() + waitMsMax
  for (;;) {
    const unwell = open.status().filter(({ upstreams }) => upstreams.every(({ fault }) => fault !== undefined))
    const isWaiting = unwell.some(({ upstreams }) => upstreams.some(({ answers }) => !answers))
    if (!isWaiting || performance.now() >= endMs) return unwell
    await pause(LOOK_MS, signal)
    signal.throwIfAborted()
  }
}
