import { DEFAULT_UNFUNDED_RULES, type UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import { ExpiryEpochs, type FileSettings, UnfundedMax } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'

/** How long created validators may wait for their deposits, and how many. */
export function readUnfundedRules(reader: SettingReader, { validators }: FileSettings): UnfundedRules {
  return {
    expiryEpochs: reader.setting(
      ExpiryEpochs,
      {
        path: ['validators', 'expiry_epochs'],
        variable: 'VALIDATORS_EXPIRY_EPOCHS',
        inFile: validators?.expiry_epochs,
      },
      DEFAULT_UNFUNDED_RULES.expiryEpochs,
    ),
    unfundedMax: reader.setting(
      UnfundedMax,
      { path: ['validators', 'unfunded_max'], variable: 'VALIDATORS_UNFUNDED_MAX', inFile: validators?.unfunded_max },
      DEFAULT_UNFUNDED_RULES.unfundedMax,
    ),
  }
}
