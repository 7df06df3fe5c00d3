import { expect } from 'vitest'
import type { ChainClock } from '../../schemas/eth/time.ts'
import type { Happened } from './estimate-looks.ts'
import { blocksOf, indicesAt, type OracleNode } from './oracle.ts'

/** A validator's stake, less what it may have been penalized for before its end. */
const PAID_GWEI_MIN = 31_990_000_000n
/** What the sync committee that it still sits in earns it until the next sweep. */
const PAID_LATER_GWEI_MAX = 1_000_000n

/**
 * When validators were active, had left and were paid, by the chain itself; throws where the sweep has not paid the stake of one of them,
 * or has paid more of it later. Whoever leaves in the middle of its sync committee's period is paid for that up to the end.
 */
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
    const [stake, ...later] = paid
    if (stake === undefined) throw new Error(`${pubkey} was not swept`)
    expect(stake.amountGwei).toBeGreaterThan(PAID_GWEI_MIN)
    for (const { amountGwei } of later) expect(amountGwei).toBeLessThan(PAID_LATER_GWEI_MAX)
    const withdrawal = stake.slot / clock.slotsPerEpoch
    return [pubkey, { active: epochOf('activation'), exit: epochOf('exit'), withdrawal }] as const
  })
  return new Map(await Promise.all(epochs))
}
