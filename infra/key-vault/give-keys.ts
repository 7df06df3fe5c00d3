import { randomBytes } from 'node:crypto'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { GiveTerms } from '../ports/key-keeping.ts'
import { toKeystores } from './export-keys.ts'
import { clientServer, importKeystores } from './keymanager.ts'
import type { OpenedKey } from './secret-keys.ts'

const PASSWORD_BYTES = 32

/** Gives keys to a validator client under a random password. The public keys of those that it did not take, lower-case hex. */
export async function giveKeystores(keys: readonly OpenedKey[], terms: GiveTerms): Promise<readonly string[]> {
  const password = randomBytes(PASSWORD_BYTES).toString('hex')
  const exported = await toKeystores(keys, Buffer.from(password))
  const locked = exported.map(({ keystore }) => ({ keystore, password }))
  const protection = nothingSigned(terms.genesisValidatorsRoot)
  const statuses = await importKeystores(clientServer(terms.client), locked, protection)
  return exported.flatMap(({ pubkey }, i) => (statuses[i] === 'error' ? [pubkey] : []))
}

/** An interchange of EIP-3076 that says which chain it is about, and of no key that it has signed: here keys sign no duties. */
function nothingSigned(genesisValidatorsRoot: Uint8Array): string {
  const metadata = { interchange_format_version: '5', genesis_validators_root: hexOf(genesisValidatorsRoot) }
  return JSON.stringify({ metadata, data: [] })
}
