import { selectChain } from '../../infra/config/select-chain.ts'
import { AppError } from '../../schemas/errors.ts'
import { dayOfInstant, formatDay, formatLocalTime } from '../../schemas/eth/time.ts'
import { formatEthFromWei, parseEth, type Wei } from '../../schemas/eth/units.ts'
import {
  REASON_MAX,
  type SettlementCorrected,
  settlementCorrected,
  settlementsLocked,
} from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { CORRECTION_IDS_BEHIND } from '../../schemas/routes/rewards/settled-rewards.ts'
import { nowSec, type Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount, checkedDay, readAccountBook } from './account-facts.ts'
import { previewCorrection } from './correction-preview.ts'
import { identifiedOn } from './identified.ts'
import { keepSettled } from './keep-settled.ts'
import { knownAccount } from './known-account.ts'
import { refuseOpenDays } from './open-days.ts'

/**
 * Locks the account's settlements of all days up to one, which have to be closed: no later fact may change them, and what is settled of
 * these days now stays as it is. There is no way back.
 */
export async function lockSettlements(
  setting: Setting,
  options: { readonly account: string; readonly through: string },
): Promise<void> {
  const account = checkedAccount(options.account)
  const day = checkedDay(options.through, '--through')
  const through = formatDay(day)
  if (day >= dayOfInstant(nowSec())) {
    throw new AppError('usage', `${through} has not ended (UTC+8): lock days that have; nothing was locked.`)
  }
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    const before = book.keptThrough(knownAccount(book, account))
    if (before !== undefined && before >= day) {
      throw new AppError('usage', `The settlements of ${account} are locked through ${formatDay(before)} already.`)
    }
    const locking = { book, account, through: day }
    await refuseOpenDays(setting, eventLog, locking)
    const { lockId, facts } = await keepSettled(setting, eventLog, { ...locking, envelope })
    const id = `account.settlements-locked:${account}:${through}`
    return {
      facts: [...facts, encodeEvent(settlementsLocked, { ...envelope, id, data: { account, through, lockId } })],
      said: `The settlements of ${account} are locked through ${through}: from now on only records of their own correct them.\n`,
    }
  })
}

/**
 * Writes a settlement record of now with signed amounts, for what locked records of a validator lack or have too much: with `yes`, once it
 * was said what that makes of the validator's settled sums.
 */
export async function correctSettlement(
  setting: Setting,
  options: {
    readonly account: string
    readonly chain?: string
    readonly userReward: string
    readonly serviceFee: string
    readonly reason: string
    readonly yes?: boolean
    /** Though an equal one was written before. */
    readonly again?: boolean
  },
  pubkey: string,
): Promise<void> {
  const account = checkedAccount(options.account)
  const chain = selectChain(setting.config, options.chain, 'beacon').names.name
  const userWei = checkedEth(options.userReward, '--user-reward')
  const feeWei = checkedEth(options.serviceFee, '--service-fee')
  const { reason } = options
  if (userWei === 0n && feeWei === 0n) throw new AppError('usage', 'A correction of nothing: name an amount.')
  if (reason.trim() === '' || reason.length > REASON_MAX) {
    throw new AppError('usage', `--reason is empty or longer than ${REASON_MAX} characters.`)
  }
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    knownAccount(book, account)
    const key = pubkey.toLowerCase()
    const validatorIndex = (await identifiedOn(eventLog, chain, setting.signal)).get(key)
    const owners = book.ownership.ownersOf(chain, key)
    if (validatorIndex === undefined || !owners.some((owned) => owned.account === account)) {
      throw new AppError('usage', `${account} never had a validator ${key} of ${chain}; nothing was written.`)
    }
    const amounts = { userRewardWei: String(userWei), serviceFeeWei: String(feeWei) }
    if (options.again !== true) refuseRepeated(book.corrections(), { chain, account, pubkey: key, reason, ...amounts })
    const preview = await previewCorrection(setting, eventLog, {
      of: { account, chain, pubkey: key },
      userWei,
      feeWei,
      yes: options.yes === true,
    })
    const number = book.corrections().length + 1
    const data = {
      chain,
      account,
      number,
      pubkey: key,
      validatorIndex,
      at: envelope.time,
      ...amounts,
      reason,
    }
    return {
      facts: [encodeEvent(settlementCorrected, { ...envelope, id: `account.settlement-corrected:${number}`, data })],
      said: `${preview}Correction ${CORRECTION_IDS_BEHIND + number}: ${amountsText(userWei, feeWei)} for ${account}, of today.\n`,
    }
  })
}

/** A script that is run again must not pay again. */
function refuseRepeated(
  written: readonly SettlementCorrected[],
  asked: Omit<SettlementCorrected, 'number' | 'validatorIndex' | 'at'>,
): void {
  const names = Object.keys(asked) as (keyof typeof asked)[]
  const equal = written.find((one) => names.every((name) => one[name] === asked[name]))
  if (equal === undefined) return
  throw new AppError(
    'usage',
    `Correction ${CORRECTION_IDS_BEHIND + equal.number}, of ${equal.at}, has the same amounts and reason; nothing was written. With --again another one is.`,
  )
}

/** Prints locks and corrections, of one account or of all. */
export async function listSettlementFacts(setting: Setting, options: { readonly account?: string }): Promise<void> {
  const book = await readAccountBook(setting)
  const only = options.account === undefined ? undefined : knownAccount(book, checkedAccount(options.account))
  const isMeant = ({ account }: { readonly account: string }): boolean => only === undefined || account === only
  const locks = book
    .locks()
    .filter(isMeant)
    .map(({ account, through, saidAt }) => `${account}  locked through ${formatDay(through)}  said ${saidAt}\n`)
  const corrections = book.corrections().filter(isMeant)
  const records = corrections.map((fact) => {
    const amounts = amountsText(BigInt(fact.userRewardWei), BigInt(fact.serviceFeeWei))
    const at = formatLocalTime(Date.parse(fact.at) / 1000)
    return `${fact.account}  correction ${CORRECTION_IDS_BEHIND + fact.number}  ${at} UTC+8  ${fact.chain} ${fact.pubkey}  ${amounts}  ${fact.reason}\n`
  })
  const lines = [...locks, ...records]
  setting.screen.print(lines.length === 0 ? 'Nothing is locked, and nothing was corrected.\n' : lines.join(''))
}

function amountsText(userWei: Wei, feeWei: Wei): string {
  return `user share ${formatEthFromWei(userWei)} ETH, service fee ${formatEthFromWei(feeWei)} ETH`
}

function checkedEth(text: string, option: string): Wei {
  const wei = parseEth(text)
  if (wei !== undefined) return wei
  throw new AppError(
    'usage',
    `${option} is not an amount of ETH: ${JSON.stringify(text)}; with a sign and up to 18 places, e.g. ${option}=-0.25.`,
  )
}
