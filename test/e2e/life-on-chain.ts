import { expect } from 'vitest'
import type { ChainClock } from '../../schemas/eth/time.ts'
import type { Happened } from './estimate-looks.ts'
import { blocksOf, indicesAt, type OracleNode } from './oracle.ts'

/** A validator's stake, less what it may have been penalized for before its end. */
const PAID_GWEI_MIN = 31_990_000_000n

/** When validators were active, had left and were paid, by the chain itself; throws where the sweep has not paid one of them exactly once. */
export async function happenedTo(
  node: OracleNode,
  pubkeys: readonly string[],
  { headSlot, clock }: { readonly headSlot: number; readonly clock: ChainClock },
): Promise<Happened> {
  const indices = await indicesAt(node, headSlot)
  const epochs = pubkeys.map(async (pubkey) => {
    const response = await fetch(`${node.beaconUrl}/eth/v1/beacon/states/head/validators/${pubkey}`)
    const { data } = (await response.json()) as { data: { validator: Readonly<Record<string, string>> } }
    const epochOf = (field: string) => Number(data.validator[`${field}_epoch`])
    const blocks = await blocksOf(node, epochOf('withdrawable') * clock.slotsPerEpoch, headSlot)
    const paid = blocks.flatMap(({ slot, withdrawals }) =>
      withdrawals
        .filter(({ validatorIndex }) => validatorIndex === indices.get(pubkey))
        .map(({ amountGwei }) => ({ slot, amountGwei })),
    )
    const [last] = paid
    if (last === undefined || paid.length > 1) throw new Error(`${pubkey} was swept ${paid.length} times`)
    expect(last.amountGwei).toBeGreaterThan(PAID_GWEI_MIN)
    const withdrawal = last.slot / clock.slotsPerEpoch
    return [pubkey, { active: epochOf('activation'), exit: epochOf('exit'), withdrawal }] as const
  })
  return new Map(await Promise.all(epochs))
}
