import { AppError } from '../../schemas/errors.ts'
import { dayOfInstant } from '../../schemas/eth/time.ts'
import { parseRate } from '../../schemas/eth/units.ts'
import { feeRateSet } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { nowSec, type Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount, checkedDay, instantOfDay } from './account-facts.ts'

/** Sets the account's fee rate from the start of a UTC+8 day on. */
export async function setFeeRate(
  setting: Setting,
  options: { readonly account: string; readonly rate: string; readonly from?: string },
): Promise<void> {
  const account = checkedAccount(options.account)
  if (parseRate(options.rate) === undefined) {
    throw new AppError(
      'usage',
      `--rate is not a decimal fraction from 0 to 1: ${JSON.stringify(options.rate)}; e.g. --rate 0.1.`,
    )
  }
  const day = options.from === undefined ? dayOfInstant(nowSec()) : checkedDay(options.from, '--from')
  const effectiveFrom = instantOfDay(day)
  await addAccountFacts(setting, (_, envelope) => ({
    facts: [
      encodeEvent(feeRateSet, {
        ...envelope,
        id: `account.fee-rate-set:${account}:${effectiveFrom}`,
        data: { account, rate: options.rate, effectiveFrom },
      }),
    ],
  }))
}
