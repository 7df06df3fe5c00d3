import { SLOTS_PER_EPOCH } from '@lodestar/params'
import type { FastifyInstance } from 'fastify'
import type { AttestationRewards } from '../consensus/attestation-rewards.ts'
import type { BlockRecord, History } from '../consensus/history.ts'
import { BeaconApiError } from './api-error.ts'
import type { BeaconApiContext } from './context.ts'
import { finalizedSlot, findBlock, type PubkeyIndex, parseIdBody, parseNumber } from './identifiers.ts'

type ByBlock = { Params: { block_id: string } }

function rewardsText(rewards: AttestationRewards, indices: readonly number[]): string {
  const { head, target, source, inactivity } = rewards
  const ideal = rewards.ideal.map(
    (reward) =>
      `{"effective_balance":"${reward.effectiveBalanceGwei}","head":"${reward.head}","target":"${reward.target}","source":"${reward.source}","inclusion_delay":"0","inactivity":"0"}`,
  )
  const total = indices
    .filter((i) => rewards.eligible[i] === 1)
    .map(
      (i) =>
        `{"validator_index":"${i}","head":"${head[i]}","target":"${target[i]}","source":"${source[i]}","inclusion_delay":"0","inactivity":"${inactivity[i]}"}`,
    )
  return `{"ideal_rewards":[${ideal.join(',')}],"total_rewards":[${total.join(',')}]}`
}

/** Rewards as they were applied to the balances. What is not known yet is 404, never zero. */
export function registerRewardRoutes(server: FastifyInstance, context: BeaconApiContext, pubkeys: PubkeyIndex): void {
  const { history } = context
  const flags = (finalized: boolean) => ({ execution_optimistic: false, finalized })
  const flagsOf = (block: BlockRecord) => flags(history.isCanonical(block) && block.slot <= finalizedSlot(history))

  server.post<{ Params: { epoch: string } }>('/eth/v1/beacon/rewards/attestations/:epoch', (request, reply) => {
    const epoch = parseNumber('epoch', request.params.epoch)
    const rewards = history.attestationRewards(epoch)
    if (rewards === undefined) throw new BeaconApiError(404, `The rewards of epoch ${epoch} are not known yet`)
    const indices = pubkeys
      .select(parseIdBody(request.body), history.head.registry)
      .filter((index) => index < rewards.eligible.length)
    // They are part of the state at the beginning of epoch + 2.
    const finalized = (epoch + 2) * SLOTS_PER_EPOCH <= finalizedSlot(history)
    return reply
      .type('application/json')
      .send(`{"execution_optimistic":false,"finalized":${finalized},"data":${rewardsText(rewards, indices)}}`)
  })
  server.get<ByBlock>('/eth/v1/beacon/rewards/blocks/:block_id', (request) => {
    const block = findBlock(history, request.params.block_id)
    const { attestations, syncAggregate, proposerSlashings, attesterSlashings } = block.rewards
    return {
      ...flagsOf(block),
      data: {
        proposer_index: String(block.proposerIndex),
        total: String(attestations + syncAggregate + proposerSlashings + attesterSlashings),
        attestations: String(attestations),
        sync_aggregate: String(syncAggregate),
        proposer_slashings: String(proposerSlashings),
        attester_slashings: String(attesterSlashings),
      },
    }
  })
  server.post<ByBlock>('/eth/v1/beacon/rewards/sync_committee/:block_id', (request) => {
    const block = findBlock(history, request.params.block_id)
    const ids = parseIdBody(request.body)
    const wanted = ids.length === 0 ? undefined : new Set(pubkeys.select(ids, registryAt(history, block)))
    const data = []
    for (const [index, reward] of block.syncRewards()) {
      if (wanted === undefined || wanted.has(index))
        data.push({ validator_index: String(index), reward: String(reward) })
    }
    return { ...flagsOf(block), data }
  })
}

function registryAt(history: History, block: BlockRecord) {
  return (history.slot(block.slot) ?? history.head).registry
}
