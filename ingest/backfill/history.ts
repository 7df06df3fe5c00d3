import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { ChainLog } from '../cursor.ts'
import { TrackedValidators } from '../epochs/tracked-validators.ts'
import { refuseOtherExecution, refuseOtherNetwork } from '../right-nodes.ts'

export interface HistoryOptions extends ChainLog {
  readonly beacon: BeaconSource
  readonly execution: ExecutionSource
  readonly log: Log
}

/** The final chain, whose nodes are the right ones, and who is tracked on it. */
export async function openHistory(options: HistoryOptions, signal: AbortSignal) {
  const { beacon } = options
  const chain = await beacon.chain()
  refuseOtherNetwork(options.chain, chain)
  await refuseOtherExecution(options.chain, chain, options.execution)
  const checkpoint = await beacon.finalized()
  const tracked = await TrackedValidators.open({ ...options, clock: chain.clock }, signal)
  const slot = firstSlotOfEpoch(chain.clock, checkpoint.epoch)
  return { chain, checkpoint, tracked, ...(await tracked.refresh(beacon.finalChain(checkpoint), slot, signal)) }
}
