import { openMigratedWarehouse } from '../infra/open-ports.ts'
import { findDayGaps } from '../processors/verify/day-gaps.ts'
import { type DayProof, proveDays } from '../processors/verify/prove-days.ts'
import { proveEpochs } from '../processors/verify/prove-epochs.ts'
import { proveRevenue, proveSettlements } from '../processors/verify/prove-settlements.ts'
import { AppError } from '../schemas/errors.ts'
import { readAccountBook } from './admin/account-facts.ts'
import type { Setting } from './setting.ts'

/** Prints the proof of every tracked validator and day; throws when a figure does not hold. Gaps are told, and are no fault. */
export async function runVerify(setting: Setting, { quiet }: { readonly quiet: boolean }): Promise<void> {
  const { config, log, screen } = setting
  await using warehouse = await openMigratedWarehouse(config, log)
  const print = (line: string): void => {
    screen.print(`${line}\n`)
  }
  let days = 0
  let proofs = 0
  let wrong = 0
  for await (const day of proveDays(warehouse)) {
    days++
    for (const proof of day) {
      proofs++
      const holds = proof.residual === '0' && proof.stored_agrees === 1
      if (!holds) wrong++
      if (!quiet || !holds) print(formatProof(proof, holds))
    }
  }
  const epochs = await proveEpochs(warehouse)
  for (const { chain, epoch, validator_index, residual } of epochs.examples) {
    print(`${chain} epoch ${epoch} validator ${validator_index}: ${residual} gwei unexplained`)
  }
  const settlements = await proveSettlements(warehouse)
  for (const { chain, account, slot, reason } of settlements.examples) {
    print(`${chain} account ${account} slot ${slot}: ${reason}`)
  }
  const revenue = await proveRevenue(warehouse)
  for (const { chain, proven_wei, settled_wei, nobodys_wei, blocks_oversettled } of revenue) {
    const oversettled = blocks_oversettled === '0' ? 'each to one account' : `${blocks_oversettled} blocks OVERSETTLED`
    print(`${chain} revenue: ${proven_wei} wei proven, ${settled_wei} settled, ${oversettled}, ${nobodys_wei} nobody's`)
  }
  for (const { chain, pubkey, accounts } of (await readAccountBook(setting)).ownership.undecided()) {
    print(
      `${chain} validator ${pubkey}: an earlier release paid ${accounts.join(' and ')}, now ${accounts.at(-1)} alone: say whose it is (admin validators move, or track --at 1970-01-01)`,
    )
  }
  for (const { chain, day, closed, validators_missing: missing } of await findDayGaps(warehouse)) {
    const lacks = `lacks ${missing} tracked validators: backfill it to have them`
    print(`${chain} ${day} ${closed === 1 ? lacks : 'is not closed'}`)
  }
  print(
    `${days} days, ${proofs} validator-days, ${wrong} wrong; ${epochs.checked} validator-epochs, ${epochs.unexplained} unexplained; ` +
      `${settlements.checked} settlements, ${settlements.wrong} wrong`,
  )
  const oversettled = revenue.some(({ blocks_oversettled }) => blocks_oversettled !== '0')
  if (wrong + epochs.unexplained + settlements.wrong > 0 || oversettled) {
    throw new AppError('warehouse', 'Not every figure holds: see the lines above.')
  }
}

function formatProof(proof: DayProof, holds: boolean): string {
  const change = BigInt(proof.balance_end) - BigInt(proof.balance_start)
  const flows = [
    `rewards ${proof.rewards}`,
    `deposits ${proof.deposits}`,
    `withdrawals ${proof.withdrawals}`,
    `returned ${proof.returned}`,
  ]
  const verdict = holds
    ? 'ok'
    : proof.residual === '0'
      ? 'WRONG: the stored row is missing or differs from its detail'
      : `WRONG by ${proof.residual}`
  const who = `${proof.chain} ${proof.day} validator ${proof.validator_index}`
  return `${who}: ${flows.join(' + ')} = ${change} gwei  ${verdict}`
}
