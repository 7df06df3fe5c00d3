import type { EventLog } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatEthFromWei, type Wei } from '../../schemas/eth/units.ts'
import type { OwnedValidator } from '../../schemas/settled-sums.ts'
import type { Setting } from '../setting.ts'
import { settledOf } from './ask-settlements.ts'

interface Correction {
  readonly of: OwnedValidator
  readonly userWei: Wei
  readonly feeWei: Wei
  /** The operator has been told, or does not want to be. */
  readonly yes: boolean
}

/**
 * What a correction makes of the validator's settled sums, as lines, or why that cannot be counted. Throws AppError `usage` with these
 * sentences without `yes`: it is money, and nothing takes a record back but another one.
 */
export async function previewCorrection(setting: Setting, eventLog: EventLog, correction: Correction): Promise<string> {
  await using settled = settledOf(setting, eventLog)
  const answered = await settled.sums(correction.of)
  const lines =
    'unknown' in answered
      ? ['What was settled of this validator cannot be counted now.', answered.unknown]
      : answered.rows.flatMap((sums) => [
          changeOf('user share', BigInt(sums.user_wei), correction),
          changeOf('service fee', BigInt(sums.fee_wei), correction),
        ])
  if (correction.yes) return `${lines.join('\n')}\n`
  throw new AppError('usage', [...lines, 'Say --yes to write this correction; nothing was written.'].join('\n'))
}

function changeOf(share: 'user share' | 'service fee', before: Wei, { of, userWei, feeWei }: Correction): string {
  const after = before + (share === 'user share' ? userWei : feeWei)
  const below = after < 0n ? ' This is NEGATIVE: more is taken back than was ever settled.' : ''
  const [was, becomes] = [formatEthFromWei(before), formatEthFromWei(after)]
  return `The settled ${share} of ${of.pubkey} of ${of.chain} for ${of.account}: ${was} ETH, with this correction ${becomes} ETH.${below}`
}
