import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ChainConfig } from '../../infra/config/types.ts'
import { tokenFileOf } from '../../infra/devnet/validator-client/client-files.ts'
import { openValidatorClient } from '../../infra/key-vault/keymanager.ts'
import type { ValidatorClient } from '../../infra/ports/validator-client.ts'
import { devnetDirectory } from '../devnet-directory.ts'
import type { Running } from '../role.ts'

/** Whatever port it has: there is one in a data folder, and it keeps its keys with its chain. */
const DEVNET_CLIENT = createHash('sha256').update('the validator client of the devnet').digest('hex')

/** What runs a chain's validators: what is configured, or the devnet's own; undefined where the operator does. */
export async function validatorClientOf(
  { source, validatorClient }: ChainConfig,
  { devnet, config }: Pick<Running, 'devnet' | 'config'>,
): Promise<ValidatorClient | undefined> {
  if (source.kind !== 'devnet') return validatorClient === undefined ? undefined : openValidatorClient(validatorClient)
  if (devnet?.keymanagerUrl === undefined) return undefined
  const token = (await readFile(tokenFileOf(devnetDirectory(config.dataDirectory)), 'utf8')).trim()
  return openValidatorClient({ url: devnet.keymanagerUrl, token, id: DEVNET_CLIENT })
}
