import type { BeaconChain } from '../../infra/ports/beacon-source.ts'
import { chainKey } from '../../schemas/chains.ts'
import { decodeEvent, encodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { depositContractTold } from '../../schemas/events/deposit-contract.ts'
import { timeOfSlot } from '../beacon-head/block-events.ts'
import type { ChainLog } from '../cursor.ts'
import { ownEvents } from '../own-events.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/

/** Tells the log once which contract the chain takes deposits from. A node that does not say so tells nothing. */
export async function tellDepositContract(
  options: ChainLog,
  { clock, depositContractAddress: address }: BeaconChain,
  signal: AbortSignal,
): Promise<void> {
  const { chain, writer } = options
  if (!ADDRESS.test(address)) return
  let told: string | undefined
  for await (const { event } of ownEvents({ ...options, topic: 'validators', signal, oneByOne: true })) {
    if (event.type !== depositContractTold.name) continue
    told = unlessUndecodable(() => decodeEvent(depositContractTold, event))?.address ?? told
  }
  if (told === address) return
  const id = `${depositContractTold.name}:${chain}:${address}`
  const time = timeOfSlot({ name: chain, clock }, 0)
  await writer.append('validators', [
    encodeEvent(depositContractTold, { id, key: chainKey(chain), time, data: { chain, address } }),
  ])
}
