import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A chain whose nodes nobody asks here: without it there would be a devnet. Whoever asks may do so as often as they can. */
const CONFIGURATION = `
chains: { mainnet: { beacon: { urls: ['http://127.0.0.1:1'] }, execution: { urls: ['http://127.0.0.1:1'] } } }
plans: { default: { requests_per_day: unlimited, requests_per_second: unlimited } }
`

/** The environment of programs whose API is measured over what lies in the directory. */
export function writeApiConfiguration(directory: string) {
  const env = { EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: join(directory, 'epochline.yaml') }
  writeFileSync(env.EPOCHLINE_CONFIG, CONFIGURATION)
  return env
}
