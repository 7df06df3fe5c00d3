import { expect } from 'vitest'
import type { ChainClock } from '../../schemas/eth/time.ts'
import type { Happened } from './estimate-looks.ts'
import { blocksOf, indicesAt, inParallel, type OracleBlock, type OracleNode } from './oracle.ts'

/** A validator's stake, less what it may have been penalized for before its end. */
const PAID_GWEI_MIN = 31_990_000_000n

/**
 * When validators were active, had left and were paid, by the chain itself; throws where the sweep has not paid the stake of one of them,
 * or has paid anything later but what its sync committee earned it, in which it may sit until the committee's period ends.
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
    const index = indices.get(pubkey)
    const amountIn = ({ withdrawals }: OracleBlock) =>
      withdrawals.find(({ validatorIndex }) => validatorIndex === index)?.amountGwei
    const at = blocks.findIndex((block) => amountIn(block) !== undefined)
    const [stake, ...later] = blocks.slice(at)
    if (at < 0 || index === undefined || stake === undefined) throw new Error(`${pubkey} was not swept`)
    expect(amountIn(stake)).toBeGreaterThan(PAID_GWEI_MIN)
    const earned = await inParallel([stake, ...later], ({ slot }) => syncRewardIn(node, slot, index))
    let balanceGwei = 0n
    process.stdout.write(
      `${pubkey} was paid ${later.filter((block) => amountIn(block) !== undefined).length} times after its stake\n`,
    )
    // A block pays withdrawals before its sync aggregate.
    for (const [i, block] of [stake, ...later].entries()) {
      if (i > 0 && amountIn(block) !== undefined) {
        expect(amountIn(block), `in slot ${block.slot}, of ${pubkey}`).toBe(balanceGwei)
        balanceGwei = 0n
      }
      balanceGwei += earned[i] ?? 0n
      if (balanceGwei < 0n) balanceGwei = 0n
    }
    const withdrawal = stake.slot / clock.slotsPerEpoch
    return [pubkey, { active: epochOf('activation'), exit: epochOf('exit'), withdrawal }] as const
  })
  return new Map(await Promise.all(epochs))
}

async function syncRewardIn({ beaconUrl }: OracleNode, slot: number, index: number): Promise<bigint> {
  const response = await fetch(`${beaconUrl}/eth/v1/beacon/rewards/sync_committee/${slot}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([String(index)]),
  })
  const { data } = (await response.json()) as { data: readonly { readonly reward: string }[] }
  return data.reduce((sum, { reward }) => sum + BigInt(reward), 0n)
}
