import type { Devnet } from '../../infra/devnet/open.ts'
import type { NodeFault } from '../faults/faulty-node.ts'

const SLOTS_PER_EPOCH = 32

/** Nothing of a state of before the final checkpoint is told, as by clients with default settings. */
export function withoutOldStates(devnet: Devnet): NodeFault {
  const body = Buffer.from('{"code":404,"message":"the state is not kept"}')
  const slotOf = (path: string) => Number(/\/beacon\/states\/(\d+)/.exec(path)?.[1])
  return {
    of: ({ path }) => slotOf(path) < devnet.history.head.finality.finalized.epoch * SLOTS_PER_EPOCH,
    reply: () => ({ status: 404, headers: { 'content-type': 'application/json' }, body }),
  }
}
