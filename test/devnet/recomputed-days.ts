import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toDayProof } from '../../api/rewards/day-proof.ts'
import type { EffectRow, ProofRows } from '../../api/rewards/select-proof.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { BeaconBlock, BeaconSource, ExplainedRows } from '../../infra/ports/beacon-source.ts'
import type { DaySpan } from '../../schemas/eth/day-span.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { formatDay } from '../../schemas/eth/time.ts'
import type { DayProof } from '../../schemas/routes/rewards/validator-proof.ts'
import { isComponent } from '../../schemas/tables/rewards.ts'
import { askEpoch } from './epoch-question.ts'

// A day of a devnet as the API would prove it: from rows as the source computes them.

const SCRIPT = join(import.meta.dirname, '../../docs/recompute-a-day.mjs')
/** What Node 20 lacks, with which the script has to do. */
const SINCE_NODE_21 = ['Map.groupBy', 'Object.groupBy', 'Array.fromAsync', 'Set.prototype.union', 'Iterator']
const AS_NODE_20 = `data:text/javascript,${SINCE_NODE_21.map((name) => `delete globalThis.${name}`).join(';')}`
const SLOTS_PER_EPOCH = 32

interface ReadEpoch {
  readonly epoch: number
  readonly blocks: readonly BeaconBlock[]
  readonly explained: ExplainedRows
}

/** Epochs from the one before the day's first to its last, computed of the devnet's states. */
export async function readEpochs(source: BeaconSource, span: DaySpan, set: Uint32Array): Promise<readonly ReadEpoch[]> {
  const final = source.finalChain(await source.finalized())
  const epochs: ReadEpoch[] = []
  for (let epoch = span.firstEpoch - 1; epoch <= span.lastTransition; epoch++) {
    const { blocks, question } = await askEpoch(source, epoch)
    const explained = await final.explainedEpoch(question, set)
    if (explained === undefined) throw new Error(`the devnet does not give the states of epoch ${epoch}`)
    epochs.push({ epoch, blocks, explained })
  }
  return epochs
}

/** The proof of a validator's day. */
export function proveDay(devnet: Devnet, span: DaySpan, epochs: readonly ReadEpoch[], index: number): DayProof {
  const rows = rowsOf(epochs, span, index)
  const balanceAt = (slot: number) => String(devnet.history.slot(slot)?.balances[index] ?? 0)
  const effects = rows.effects.filter(({ slot }) => span.firstSlot <= Number(slot) && Number(slot) <= span.lastSlot)
  const credited = rows.epochs.filter(({ epoch }) => epoch >= span.firstTransition)
  const sumOf = (amounts: readonly string[]) => String(amounts.reduce((sum, gwei) => sum + BigInt(gwei), 0n))
  const attested = (['source_gwei', 'target_gwei', 'head_gwei', 'inactivity_gwei'] as const).map(
    (name) => [name, sumOf(credited.map((row) => row[name]))] as const,
  )
  const kind = (is: (kind: EffectRow['kind']) => boolean) =>
    sumOf(effects.filter((one) => is(one.kind)).map((one) => one.amount_gwei))
  return toDayProof({
    ...{ pubkey: hexOf(pubkeyOf(index)), span, slotsPerEpoch: SLOTS_PER_EPOCH },
    row: {
      ...{
        day: formatDay(span.day),
        validator_index: index,
        el_reward_wei: '0',
        blocks: 0,
        blocks_unexplained: 0,
        residual_gwei: '0',
        level: 'anchored',
        // No part of a proof.
        active_epochs: 0,
        effective_balance_epochs_gwei: '0',
      },
      ...(Object.fromEntries(attested) as Record<(typeof attested)[number][0], string>),
      ...{ sync_gwei: kind((one) => one === 'sync'), proposer_gwei: kind((one) => one === 'proposer') },
      slashing_penalty_gwei: kind((one) => one.startsWith('slashing')),
      ...{
        deposits_gwei: kind((one) => one === 'deposit'),
        withdrawals_gwei: kind((one) => one.startsWith('withdrawal')),
      },
      returned_from_queue_gwei: kind((one) => one === 'returned_from_queue'),
      moved_to_queue_gwei: kind((one) => one === 'moved_to_queue'),
      consolidations_in_gwei: kind((one) => one === 'consolidation_in'),
      consolidations_out_gwei: kind((one) => one === 'consolidation_out'),
      cl_reward_gwei: sumOf([...attested.map(([, gwei]) => gwei), kind(isComponent)]),
      ...{ balance_start_gwei: balanceAt(span.firstSlot - 1), balance_end_gwei: balanceAt(span.lastSlot) },
    },
    rows: { ...rows, effects },
  })
}

/** Rows of a validator as the tables would have them. */
function rowsOf(epochs: readonly ReadEpoch[], span: DaySpan, index: number): ProofRows {
  return {
    proofs: epochs.map(({ epoch, explained: { proof } }) => {
      return { epoch, level: proof.level, formulas: proof.formulas, state_root: proof.stateRoot }
    }),
    epochs: epochs.flatMap(({ epoch, explained }) => {
      const { states, attestations } = explained
      const at = states.validatorIndex.indexOf(index)
      if (at === -1) return []
      const text = (column: BigInt64Array) => String(column[at])
      const residual = explained.residuals.find(({ validatorIndex }) => validatorIndex === index)
      return [
        {
          ...{ chain: '', epoch, day: '', validator_index: index, level: explained.proof.level, version: '1' },
          ...{ source_gwei: text(attestations.sourceGwei), target_gwei: text(attestations.targetGwei) },
          ...{ head_gwei: text(attestations.headGwei), inactivity_gwei: text(attestations.inactivityGwei) },
          ...{ balance_gwei: text(states.balanceGwei), effective_balance_gwei: '', status: 0, slashed: 0 },
          ...{ activation_epoch: '', exit_epoch: '', withdrawable_epoch: '', residual_gwei: residual?.gwei ?? '0' },
        },
      ]
    }),
    effects: epochs.flatMap((epoch) => effectsOf(epoch, index)).sort((a, b) => Number(a.slot) - Number(b.slot)),
    blocks: epochs.flatMap(({ blocks }) => lastOnes(blocks, span)).reverse(),
  }
}

function effectsOf({ epoch, blocks, explained }: ReadEpoch, index: number): EffectRow[] {
  const { sync, proposals, effects } = explained
  const rows: { slot: number; kind: EffectRow['kind']; amount: string | bigint }[] = []
  for (let row = 0; row < sync.slot.length; row++) {
    if (sync.validatorIndex[row] !== index) continue
    rows.push({ slot: sync.slot[row] as number, kind: 'sync', amount: sync.syncGwei[row] as bigint })
  }
  for (const { slot, ...parts } of proposals) {
    if (blocks.find((block) => block.slot === slot)?.proposerIndex !== index) continue
    rows.push({ slot, kind: 'proposer', amount: Object.values(parts).reduce((sum, gwei) => sum + gwei, 0n) })
  }
  for (const { slot, validatorIndex, kind, amountGwei } of effects)
    if (validatorIndex === index) rows.push({ slot, kind, amount: amountGwei })
  return rows.map(({ slot, kind, amount }) => {
    const root = blocks.find((block) => block.slot === slot)?.root ?? ''
    return { slot: String(slot), epoch, kind, reference: '0', amount_gwei: String(amount), block_root: root }
  })
}

/** The last block of the epoch, and of its slots before the day and in it. */
function lastOnes(blocks: readonly BeaconBlock[], { firstSlot, lastSlot }: DaySpan) {
  const parts = [
    blocks.filter(({ slot }) => slot < firstSlot),
    blocks.filter(({ slot }) => firstSlot <= slot && slot <= lastSlot),
  ]
  return parts.flatMap((some) => some.slice(-1)).map(({ slot, root }) => ({ slot: String(slot), block_root: root }))
}

export interface Verdict {
  readonly code: number
  readonly lines: readonly string[]
  readonly errors: string
}

/** What docs/recompute-a-day.mjs says, as it runs with Node 20. */
export function runScript(args: readonly string[]): Promise<Verdict> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', AS_NODE_20, SCRIPT, ...args], (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code)
      resolve({ code, lines: stdout.trim().split('\n'), errors: stderr })
    })
  })
}

/** What docs/recompute-a-day.mjs says of a document as it was answered, which may be one page of more epochs. */
export async function recompute(nodeUrl: string, proof: DayProof, total = proof.epochs.length): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'epochline-proof-'))
  try {
    const file = join(folder, 'proof.json')
    await writeFile(file, JSON.stringify({ code: '200', msg: 'Success', data: proof, pagination: { total } }))
    return await runScript(['--node', nodeUrl, '--proof', file])
  } finally {
    await rm(folder, { recursive: true })
  }
}
