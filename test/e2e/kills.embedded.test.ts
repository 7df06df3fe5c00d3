import { isLong } from '../long-form.ts'
import { ALL_DEATHS, DEATHS_AFTER, killsSuite } from './kills.ts'

killsSuite({
  mode: 'embedded',
  modeOf: () => ({}),
  deaths: isLong ? ALL_DEATHS : DEATHS_AFTER,
  randomKills: isLong ? 200 : 2,
  pauseMsMax: 2_500,
})
