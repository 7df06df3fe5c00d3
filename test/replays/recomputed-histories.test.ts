import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type ForkName, SLOTS_PER_EPOCH } from '@lodestar/params'
import { sszTypesFor } from '@lodestar/types'
import { expect, test } from 'vitest'
import { TRANSITION_FORKS } from '../../schemas/eth/transition/fork-rules.ts'
import { PATIENCE, tries } from '../long-form.ts'
import type { BalanceChange, Step } from '../transition/balance-changes.ts'
import type { HistoryEpoch } from '../transition/random-history.ts'
import { ServedHistory } from '../transition/served-history.ts'

// The script that anybody can check figures with, through all forks: what it makes of a node's raw states and blocks against what the reference
// state transition did to balances.

const SCRIPT = join(import.meta.dirname, '../../docs/recompute-a-day.mjs')
const TIMEOUT_MS = 180_000 * PATIENCE
/** In so many, Altair lasts for two with these seeds: of the first one's transition nobody has rewards. */
const EPOCHS = 20
const SEEDS = ['5', '0', '2', '4', '6', '8', '9', '10', '11'].slice(0, tries(1, 9))

/** What the script's line calls each part; what queues and requests do it leaves to the document. */
const NAME_OF_STEP: Readonly<Record<Step, string>> = {
  source: 'source',
  target: 'target',
  head: 'head',
  inactivity: 'inactivity',
  slashings: 'slashing',
  pending_deposits: 'not recomputed',
  pending_consolidations: 'not recomputed',
  upgrade_bellatrix: 'not recomputed',
  upgrade_capella: 'not recomputed',
  upgrade_deneb: 'not recomputed',
  upgrade_electra: 'not recomputed',
  upgrade_fulu: 'not recomputed',
  withdrawals: 'withdrawals',
  proposer_slashing: 'slashing',
  attester_slashing: 'slashing',
  slashing_report: 'proposer',
  attestation: 'proposer',
  deposit: 'deposits',
  consolidation_request: 'not recomputed',
  sync_aggregate: 'sync',
  sync_proposer: 'proposer',
}
const NAMES = [...new Set(Object.values(NAME_OF_STEP))]

interface Pair {
  readonly epoch: number
  readonly validator: number
  readonly sums: Readonly<Record<string, bigint>>
  /** Forks with steps that the epoch has of the validator. */
  readonly has: ReadonlySet<string>
}

const balancesOf = ({ fork, state }: HistoryEpoch) =>
  sszTypesFor(fork as ForkName).BeaconState.deserialize(state).balances

/** What the reference did to each validator, but for those that the head of the script leaves out. */
function pairsOf(history: ServedHistory): readonly Pair[] {
  return history.epochs.slice(1).flatMap(({ epoch, fork, changes }, before) => {
    const earlier = history.epochs[before] as HistoryEpoch
    const balances = balancesOf(earlier)
    const firstSlot = epoch * SLOTS_PER_EPOCH
    const byValidator = Map.groupBy(changes, ({ validatorIndex }) => validatorIndex)
    return [...byValidator].flatMap(([validator, own]) => {
      if (isLeftOut(balances[validator], own)) return []
      const isTransition = ({ slot, step }: BalanceChange) => slot === firstSlot && IN_TRANSITION.has(step)
      const forkOf = (change: BalanceChange) => (isTransition(change) ? earlier.fork : fork)
      const sums = Object.fromEntries(NAMES.map((name) => [name, 0n]))
      for (const { step, gwei } of own) sums[NAME_OF_STEP[step]] = (sums[NAME_OF_STEP[step]] ?? 0n) + gwei
      return [{ epoch, validator, sums, has: new Set(own.map((change) => `${forkOf(change)} ${change.step}`)) }]
    })
  })
}

/** New validators, and those whose balance would be at 0 at some time without what a queue has added. */
function isLeftOut(balance: number | undefined, changes: readonly BalanceChange[]): boolean {
  if (balance === undefined) return true
  const isQueued = ({ step }: BalanceChange) => NAME_OF_STEP[step] === 'not recomputed'
  let left = BigInt(balance)
  const isEmptied = changes
    .filter((one) => !isQueued(one))
    .some(({ gwei }) => {
      left += gwei
      return left <= 0n
    })
  return isEmptied && changes.some(isQueued)
}

const IN_TRANSITION: ReadonlySet<Step> = new Set(['source', 'target', 'head', 'inactivity', 'slashings'])

/** As few as have everything that any has, those with most first. */
function coveringAll(pairs: readonly Pair[]): readonly Pair[] {
  const left = new Set(pairs.flatMap(({ has }) => [...has]))
  const chosen: Pair[] = []
  while (left.size > 0) {
    const gain = ({ has }: Pair) => has.intersection(left).size
    const best = pairs.reduce((most, one) => (gain(one) > gain(most) ? one : most))
    chosen.push(best)
    for (const one of best.has) left.delete(one)
  }
  return chosen
}

const run = promisify(execFile)

async function recomputed(url: string, { epoch, validator }: Pick<Pair, 'epoch' | 'validator'>) {
  const args = [SCRIPT, '--node', url, '--validator', String(validator), '--epoch', String(epoch)]
  const { stdout } = await run(process.execPath, args)
  const [, parts] = /^epoch \d+: recomputed \((.*)\)$/.exec(stdout.trim()) ?? expect.fail(stdout)
  return Object.fromEntries(
    (parts as string).split(', ').map((part) => [...(/^(.*) (-?\d+)$/.exec(part) ?? [])].slice(1)),
  )
}

test.each(SEEDS)(
  'the script that imports nothing comes to what the reference state transition did, through all forks: seed %s',
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const history = new ServedHistory({ seed, epochs: EPOCHS })
    await using node = await history.open()
    const chosen = coveringAll(pairsOf(history))
    for (const pair of chosen) {
      const { epoch, validator, sums } = pair
      const texts = Object.fromEntries(Object.entries(sums).map(([name, gwei]) => [name, String(gwei)]))
      expect({ epoch, validator, ...(await recomputed(node.url, pair)) }, [...pair.has].join()).toEqual({
        ...{ epoch, validator, ...texts },
      })
    }
    const met = new Set(chosen.flatMap(({ has }) => [...has]))
    for (const fork of TRANSITION_FORKS)
      for (const step of ['source', 'target', 'head', 'attestation', 'sync_aggregate', 'sync_proposer'])
        expect([...met]).toContain(`${fork} ${step}`)
    expect(await recomputed(node.url, { epoch: 0, validator: 0 })).toMatchObject({ source: '0', 'not recomputed': '0' })
    // The node's address has a user and a query.
    const authorization = `Basic ${btoa('user:secret')}`
    const asked = new Set(node.seen.map(({ path, headers }) => `${path.split('?')[1]} ${headers.authorization}`))
    expect([...asked]).toEqual([`key=hidden ${authorization}`])
  },
)
