import { expect, test } from 'vitest'
import type { FinalChain, ProposerReward } from '../../infra/ports/beacon-source.ts'
import { provenBlocks, toText } from '../../ingest/epochs/proposer-rewards.ts'
import { toldResiduals, unexplainedChanges } from '../../ingest/epochs/told-residuals.ts'
import { effectsOf } from '../../schemas/events/balance-effects.ts'
import { silentLog } from './silent-log.ts'
import { SyntheticChain } from './synthetic-chain.ts'

// Nothing commits to what a proposer earned but the change of its balance.

const EPOCH = 3
const BEFORE_GWEI = 32_000_000_000n
const [ATTESTATION_GWEI, SYNC_GWEI, WITHDRAWN_GWEI, DEPOSITED_GWEI] = [9n, -4n, 1_000n, 500n]
const TRUE: ProposerReward = {
  attestationsGwei: 40n,
  syncAggregateGwei: 7n,
  proposerSlashingsGwei: 0n,
  attesterSlashingsGwei: 0n,
}
const WRONG = { ...TRUE, attestationsGwei: 41n }
const PROPOSED = 2
const AFTER_GWEI = BEFORE_GWEI + ATTESTATION_GWEI + SYNC_GWEI - WITHDRAWN_GWEI + DEPOSITED_GWEI + BigInt(PROPOSED) * 47n

const root = (slot: number) => `0x${slot.toString(16).padStart(64, '0')}`

/** Validator 5 has proposed two blocks of the epoch; `again` is what the node says when it is asked again. */
async function prove(first: ProposerReward, again: readonly ProposerReward[], slashed = 0) {
  const chain = new SyntheticChain()
  const asked: string[] = []
  const final: FinalChain = {
    ...chain.final,
    proposerReward: async (blockRoot) => {
      asked.push(blockRoot)
      return again[Math.floor((asked.length - 1) / PROPOSED)] ?? first
    },
  }
  const named = (slot: number, proposerIndex: number) => ({
    slot,
    root: root(slot),
    parentRoot: root(slot - 1),
    proposerIndex,
    executionBlockHash: root(slot),
    executionBlockNumber: slot,
    feeRecipient: `0x${'00'.repeat(20)}`,
  })
  const unasked = {
    attestationsGwei: null,
    syncAggregateGwei: null,
    proposerSlashingsGwei: null,
    attesterSlashingsGwei: null,
  }
  const blocks = [
    { ...named(12, 5), ...toText(first) },
    { ...named(13, 6), ...unasked },
    { ...named(14, 5), ...toText(first) },
  ]
  const states = await chain.final.validators(15, Uint32Array.of(5))
  const gwei = (value: bigint) => BigInt64Array.of(value)
  const figures = {
    effects: effectsOf({
      withdrawals: [{ slot: 12, index: 1, validatorIndex: 5, amountGwei: String(WITHDRAWN_GWEI) }],
      slashings: [],
      deposits: [{ slot: 12, validatorIndex: 5, kind: 'deposit', ordinal: 0, amountGwei: String(DEPOSITED_GWEI) }],
    }),
    before: { validatorIndex: Uint32Array.of(5), balanceGwei: gwei(BEFORE_GWEI) },
    states: { ...states, balanceGwei: gwei(AFTER_GWEI), slashed: Uint8Array.of(slashed) },
    attestations: {
      validatorIndex: Uint32Array.of(5),
      sourceGwei: gwei(ATTESTATION_GWEI),
      targetGwei: gwei(0n),
      headGwei: gwei(0n),
      inactivityGwei: gwei(0n),
    },
    sync: { slotOffset: Uint8Array.of(1), validatorIndex: Uint32Array.of(5), syncGwei: gwei(SYNC_GWEI) },
  }
  const lines: string[] = []
  const log = { ...silentLog, warn: (_: object, line: string) => void lines.push(line) }
  const changes = unexplainedChanges(figures)
  const proven = await provenBlocks({ final, epoch: EPOCH }, { ...figures, blocks, changes }, log)
  return {
    told: proven.map(({ attestationsGwei }) => attestationsGwei),
    asked: asked.length,
    lines,
    residuals: toldResiduals(figures, changes, proven),
  }
}

test('rewards that explain the balance are asked for once', async () => {
  expect(await prove(TRUE, [])).toEqual({ told: ['40', null, '40'], asked: 0, lines: [], residuals: [] })
})

test.each([
  ['once', [TRUE], 2],
  ['twice', [WRONG, TRUE], 4],
] as const)('rewards that do not are asked for again, and it is told: wrong %s', async (_, again, asked) => {
  const proven = await prove(WRONG, again)
  expect(proven).toMatchObject({ told: ['40', null, '40'], asked })
  expect(proven.lines).toEqual([expect.stringMatching(/of 1 proposers in epoch 3 did not .*: asked again$/)])
})

test('what a node keeps saying is taken, and told with what it leaves unexplained', async () => {
  const { told, lines } = await prove(WRONG, [WRONG, WRONG])
  expect(told).toEqual(['41', null, '41'])
  expect(lines).toEqual([expect.stringContaining('(validator 5: -2 gwei), which `epochline verify` shows')])
})

test('the reward for one vote is not taken for that of a whole sync aggregate', async () => {
  const oneVote = { ...TRUE, syncAggregateGwei: 1n }
  expect(await prove(oneVote, [TRUE])).toMatchObject({ asked: PROPOSED })
  const { lines } = await prove(oneVote, [oneVote, oneVote])
  expect(lines).toEqual([expect.stringContaining('(validator 5: 12 gwei), which `epochline verify` shows')])
})

test('what it leaves unexplained beyond what nodes round is told with the epoch', async () => {
  const told = async (more: bigint) => {
    const wrong = { ...TRUE, attestationsGwei: TRUE.attestationsGwei + more }
    return (await prove(wrong, [wrong, wrong])).residuals
  }
  expect(await told(2n)).toEqual([])
  expect(await told(3n)).toEqual([{ validatorIndex: 5, gwei: '-6' }])
  expect(await told(-3n)).toEqual([{ validatorIndex: 5, gwei: '6' }])
  // A slashed validator's balance is asked about no more, and proves as much.
  const wrong = { ...TRUE, attestationsGwei: 43n }
  expect((await prove(wrong, [], 1)).residuals).toEqual([{ validatorIndex: 5, gwei: '-6' }])
})

test('nothing is concluded from the balance of a slashed validator', async () => {
  expect(await prove(WRONG, [], 1)).toEqual({ told: ['41', null, '41'], asked: 0, lines: [], residuals: [] })
})
