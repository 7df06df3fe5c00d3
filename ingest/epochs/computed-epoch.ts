import type { BeaconBlock, ExplainedRows } from '../../infra/ports/beacon-source.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { EpochBlocksData, EpochValidatorsColumns, FinalizedBlock } from '../../schemas/events/beacon-epoch.ts'
import { giveBackWhole } from '../../schemas/memory.ts'
import { type EpochInput, namedBlock } from './epoch-blocks.ts'
import { NOT_ASKED, toText } from './proposer-rewards.ts'
import { isAmong } from './registry-rows.ts'

/** An epoch as it was computed from states: its columns, and its blocks event without the parts. */
export function computedEpoch(
  { chain, epoch, tracked, chainName }: EpochInput & { readonly chainName: string },
  blocks: readonly BeaconBlock[],
  { states, attestations, sync, proposals, effects, residuals, ...told }: ExplainedRows,
): { readonly validators: EpochValidatorsColumns; readonly data: EpochBlocksData } {
  const proposalOf = new Map(proposals.map((proposal) => [proposal.slot, proposal]))
  const finalized = blocks.map((block): FinalizedBlock => {
    const proposal = isAmong(tracked.indices, block.proposerIndex) ? proposalOf.get(block.slot) : undefined
    return { ...namedBlock(block), ...(proposal === undefined ? NOT_ASKED : toText(proposal)) }
  })
  const firstSlot = firstSlotOfEpoch(chain.clock, epoch)
  const { proof, proposers, network = null, differences } = told
  const flows = { blocks: finalized, effects: [...effects], proof, residuals: [...residuals] }
  const facts = { proposers: proposers === undefined ? null : [...proposers], network, differences: [...differences] }
  return {
    validators: { ...states, ...attestations },
    data: {
      header: { chain: chainName, clock: chain.clock, epoch, ...flows, ...facts, parts: [] },
      columns: {
        slotOffset: Uint8Array.from(sync.slot, (slot) => slot - firstSlot),
        validatorIndex: sync.validatorIndex,
        syncGwei: sync.syncGwei,
      },
    },
  }
}

/** Gives back the memory of what was computed of each validator, behind its events: of a million validators an epoch has 80 MB. */
export function giveBackComputed({ states, attestations, cuts }: ExplainedRows): void {
  const balances = cuts.flatMap((cut) => Object.values(cut.balances))
  giveBackWhole([...Object.values(states), ...Object.values(attestations), ...balances])
}
