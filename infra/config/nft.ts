import { given } from './environment.ts'
import { type FileSettings, RequestsPerSecond } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { NftConfig } from './types.ts'

/** How many NFT questions one access token may ask. */
export function readNft(reader: SettingReader, { nft }: FileSettings): NftConfig {
  const variable = 'NFT_REQUESTS_PER_SECOND'
  const requestsPerSecond = reader.variable(RequestsPerSecond, variable) ?? nft?.requests_per_second
  if (requestsPerSecond === undefined) return {}
  reader.show(
    ['nft', 'requests_per_second'],
    requestsPerSecond,
    given(reader.env, variable) === undefined ? 'file' : variable,
  )
  return { requestsPerSecond }
}
