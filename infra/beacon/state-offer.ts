import { isNodeFault } from '../../schemas/errors.ts'
import { flagsOfHeaders, refuseOptimistic } from './answer-flags.ts'
import { missing, pathOf } from './route.ts'
import { DEBUG } from './routes.ts'
import type { Ask } from './wide-tables.ts'

/** Every fork's `BeaconState` begins with `genesis_time`, `genesis_validators_root` and `slot`. */
const SLOT_AT = 40
const HEAD_BYTES = 48

/**
 * Begins to ask for the whole state after a slot, and ends when its first bytes tell that it comes. Its size in bytes, undefined where the
 * node does not tell that before it has sent it. Throws AppError `node_lagging` where no node gives the state as SSZ.
 */
export function askStateOffer(ask: Ask, slot: number): Promise<{ readonly bytes: number | undefined }> {
  const what = `the state of slot ${slot}`
  return ask('whole states', async (node) => {
    const path = pathOf(DEBUG.getStateV2, { stateId: slot })
    const request = { method: 'GET', path, accept: 'application/octet-stream' } as const
    const answer = await node.readFirst(request, HEAD_BYTES).catch((error: unknown) => {
      // It has the route closed, or nothing of that age.
      if (isNodeFault(error) && error.code === 'node_refused') throw node.fault('node_lagging', `refuses ${what}`)
      throw error
    })
    if (answer === undefined) missing(node, what)
    const { headers, body } = answer
    if (!String(headers['content-type'] ?? '').includes('octet-stream'))
      throw node.fault('node_lagging', 'does not tell states as SSZ')
    refuseOptimistic(node, what, flagsOfHeaders(headers))
    if (body.length < HEAD_BYTES) throw node.fault('node_malformed', `told ${what} in ${body.length} bytes`)
    const told = new DataView(body.buffer, body.byteOffset).getBigUint64(SLOT_AT, true)
    if (told !== BigInt(slot)) throw node.fault('node_inconsistent', `answered ${what} with that of slot ${told}`)
    const bytes = headers['content-length']
    return { bytes: bytes === undefined ? undefined : Number(bytes) }
  })
}
