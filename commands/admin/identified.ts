import type { EventLog } from '../../infra/ports/event-log.ts'
import { readLogFacts } from '../../processors/loop/log-facts.ts'
import { decodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'

/** Indices of a chain's validators by public key, as far as the log knows them: those that the registry has and that were followed. */
export async function identifiedOn(
  eventLog: EventLog,
  chain: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const unnamedChain = (await readLogFacts(eventLog, signal))?.unnamedChain
  const indices = new Map<string, number>()
  for await (const { event } of eventLog.read({ topic: 'validators', signal })) {
    if (event.type !== validatorsIdentified.name) continue
    const identified = unlessUndecodable(() => decodeEvent(validatorsIdentified, event, unnamedChain))
    if (identified?.chain !== chain) continue
    for (const { pubkey, index } of identified.validators) indices.set(pubkey, index)
  }
  return indices
}
