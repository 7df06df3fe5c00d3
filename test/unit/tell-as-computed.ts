import type { EventLog } from '../../infra/ports/event-log.ts'
import { FORMULAS_VERSION } from '../../schemas/eth/transition/explain-epoch.ts'
import { type EpochProof, epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { BEACON_CHAIN, eventsIn } from './follow-synthetic.ts'

interface Computed extends Partial<Pick<EpochProof, 'formulas' | 'level'>> {
  /** Whether the epoch is said to have none. */
  readonly isWithoutBlocks?: boolean
}

/** What the log tells of an epoch, said to be computed of states. */
export async function tellAsComputed(eventLog: EventLog, epoch: number, computed: Computed = {}): Promise<void> {
  const { formulas = FORMULAS_VERSION, level = 'anchored', isWithoutBlocks = false } = computed
  const id = `beacon.epoch-blocks:${BEACON_CHAIN}:${epoch}`
  const told = (await eventsIn(eventLog, 'beacon.epochs')).find((event) => event.id === id)
  if (told === undefined) throw new Error(`the log does not tell epoch ${epoch}`)
  const { header, columns } = decodeEvent(epochBlocks, told)
  const proof = { formulas, stateRoot: `0x${'11'.repeat(32)}`, level }
  const blocks = isWithoutBlocks ? [] : header.blocks
  await eventLog.append('beacon.epochs', [
    encodeEvent(epochBlocks, { ...told, data: { header: { ...header, proof, blocks }, columns } }),
  ])
}
