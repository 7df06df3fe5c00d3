import { given } from './environment.ts'
import { AllowedServer, type FileSettings, Gateway } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { MetadataConfig } from './types.ts'

const IPFS_GATEWAYS = ['https://ipfs.io/ipfs/', 'https://dweb.link/ipfs/']
const ARWEAVE_GATEWAYS = ['https://arweave.net/']

/** Where documents of tokens are read from. */
export function readMetadata(reader: SettingReader, { metadata }: FileSettings): MetadataConfig {
  const gatewaysOf = (name: 'ipfs_gateways' | 'arweave_gateways', variable: string) =>
    reader.list(Gateway, { path: ['metadata', name], variable, inFile: metadata?.[name] })
  const gateways = {
    ipfs: gatewaysOf('ipfs_gateways', 'IPFS_GATEWAYS') ?? IPFS_GATEWAYS,
    arweave: gatewaysOf('arweave_gateways', 'ARWEAVE_GATEWAYS') ?? ARWEAVE_GATEWAYS,
  }
  const variable = 'METADATA_ALLOWED_SERVER'
  const allowedServer = reader.variable(AllowedServer, variable) ?? metadata?.allowed_server
  if (allowedServer === undefined) return { gateways }
  const origin = given(reader.env, variable) === undefined ? 'file' : variable
  reader.show(['metadata', 'allowed_server'], allowedServer, origin)
  return { allowedServer, gateways }
}
