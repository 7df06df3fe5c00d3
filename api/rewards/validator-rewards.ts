import { DAY_OFFSET_SEC } from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { parseUtcOffset } from '../../schemas/eth/utc-offset.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { type ValidatorDay, validatorRewards } from '../../schemas/routes/rewards/validator-rewards.ts'
import { pageOf } from '../http/cursor.ts'
import { operation, type RequestScope } from '../http/operation.ts'
import { normalisePubkey } from '../http/pubkey-text.ts'
import { seenValidators } from '../http/seen-validators.ts'
import { answerFigures, completenessOf } from './completeness.ts'
import { type DateQuery, dayWindow, nowBy, OFFSET_REFUSAL } from './day-window.ts'
import { expectedValidators } from './expected-validators.ts'
import { horizonOf } from './horizon.ts'
import { reportSpansOf } from './kept-spans.ts'
import { horizonBy, localDays } from './local-days.ts'
import { isServed, missingDays } from './shown-days.ts'
import { incomeOfDay } from './tax-entries.ts'
import { type ValidatorDayRow, validatorDays } from './validator-days.ts'

export const validatorRewardsOperation = operation(
  validatorRewards,
  async ({ query }, scope) => {
    const asked = await daysAskedFor(query, scope)
    if (asked.status === 'refused') return asked
    const page = pageOf(asked.rows, {
      of: [validatorRewards.id, scope.chain, scope.account],
      query,
      keyOf: ({ day }) => [day],
      isBehind: ({ day }, [last = '']) => day > last,
    })
    if (page.status === 'refused') return page
    const { pubkey, index, completeness } = asked
    const data = { pubkey, validator_index: index ?? null, rewards: page.items.map(toValidatorDay) }
    return answerFigures(data, page, completeness)
  },
  async ({ query }, scope) => {
    const asked = await daysAskedFor(query, scope)
    if (asked.status === 'refused') return asked
    return {
      status: 'report',
      completeness: asked.completeness,
      rows: [asked.rows.map(toValidatorDay)],
      toTaxEntries: (row) => incomeOfDay(row as ValidatorDay, asked.offsetSec, `, validator ${asked.index}`),
    }
  },
)

const NONE_MISSING: ReadonlyMap<number, number> = new Map()

type DaysQuery = DateQuery & { readonly pubkey: string; readonly utc_offset?: string | undefined }

/** One validator's rows: no more than the chain has closed days. */
async function daysAskedFor(query: DaysQuery, scope: RequestScope) {
  const offsetSec = query.utc_offset === undefined ? DAY_OFFSET_SEC : parseUtcOffset(query.utc_offset)
  if (offsetSec === undefined) return refuse('400', OFFSET_REFUSAL)
  const window = dayWindow(nowBy(scope.nowMs, offsetSec), query, 'yesterday', 'any')
  if (window.status === 'refused') return window
  const pubkey = normalisePubkey(query.pubkey)
  const { registered, unregistered } = await seenValidators(scope)
  const validator = registered.find((one) => one.pubkey === pubkey)
  if (validator === undefined && !unregistered.some((one) => one.pubkey === pubkey))
    return refuse('400', 'pubkey is none of the account’s validators')
  const utc8 = await horizonOf(scope.standing)
  const horizon = utc8 && horizonBy(utc8, offsetSec)
  const rows: ValidatorDayRow[] = []
  if (validator !== undefined && utc8 !== undefined && horizon !== undefined) {
    const indices = new Set([validator.index])
    for (const days of reportSpansOf(window, horizon)) {
      const found = await (offsetSec === DAY_OFFSET_SEC
        ? validatorDays(scope, horizon, { indices, days })
        : localDays(scope, utc8, { indices, days, offsetSec }))
      rows.push(...found.filter(isServed(scope)))
    }
  }
  const expected = horizon === undefined ? [] : await expectedValidators(scope, horizon)
  const validators = expected.filter((one) => one.pubkey === pubkey)
  const missing =
    horizon === undefined ? NONE_MISSING : missingDays(horizon, validators, { days: window, offsetSec }, rows)
  const completeness = completenessOf(horizon, window, missing, offsetSec)
  return { status: 'found', pubkey, index: validator?.index, rows, completeness, offsetSec } as const
}

const gweiText = (gwei: string): string => formatEthFromGwei(BigInt(gwei))

function toValidatorDay(row: ValidatorDayRow): ValidatorDay {
  const elWei = BigInt(row.el_reward_wei)
  return {
    date: row.day,
    el_reward: formatEthFromWei(elWei),
    cl_reward: gweiText(row.cl_reward_gwei),
    total_reward: formatEthFromWei(elWei + toWei(BigInt(row.cl_reward_gwei))),
    source: gweiText(row.source_gwei),
    target: gweiText(row.target_gwei),
    head: gweiText(row.head_gwei),
    inactivity: gweiText(row.inactivity_gwei),
    sync: gweiText(row.sync_gwei),
    proposer: gweiText(row.proposer_gwei),
    slashing_penalty: gweiText(row.slashing_penalty_gwei),
    deposits: gweiText(row.deposits_gwei),
    withdrawals: gweiText(row.withdrawals_gwei),
    returned_from_queue: gweiText(row.returned_from_queue_gwei),
    moved_to_queue: gweiText(row.moved_to_queue_gwei),
    consolidations_in: gweiText(row.consolidations_in_gwei),
    consolidations_out: gweiText(row.consolidations_out_gwei),
    balance_start: gweiText(row.balance_start_gwei),
    balance_end: gweiText(row.balance_end_gwei),
    residual: gweiText(row.residual_gwei),
    blocks: row.blocks,
    blocks_unproven: row.blocks_unexplained,
    // Days that are not whole have no row.
    level: row.level as ValidatorDay['level'],
  }
}
