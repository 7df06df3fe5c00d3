import { join } from 'node:path'
import { Check } from 'typebox/schema'
import type { KeySource } from '../key-vault/key-source.ts'
import { given } from './environment.ts'
import { NODE_URL } from './references.ts'
import { type FileSettings, VaultKey } from './rules.ts'
import { BLANK, type SettingReader } from './setting-reader.ts'
import type { VaultConfig } from './types.ts'

const VARIABLE = 'VAULT_KEY'
const PATH = ['vault', 'key']

/** Where the keys of validators are, and the key that they are sealed with: a file beside them unless it is named. */
export function readVault(reader: SettingReader, { vault }: FileSettings, dataDirectory: string): VaultConfig {
  const directory = join(dataDirectory, 'vault')
  const text = given(reader.env, VARIABLE)
  if (text === undefined && reader.env[VARIABLE] !== undefined)
    reader.refuse(`${VARIABLE} is empty: leave it out, or say where the key is, e.g. ${VARIABLE}=${VaultKey.example}.`)
  // Not repeated in the sentence: it may be the key itself.
  if (text !== undefined && !Check(VaultKey, text))
    reader.refuse(`${VARIABLE} is not ${VaultKey.expected}; e.g. ${VARIABLE}=${VaultKey.example}.`)
  const beside = join(dataDirectory, 'vault.key')
  const named = text ?? vault?.key ?? `file:${beside}`
  const origin = text !== undefined ? VARIABLE : vault?.key !== undefined ? 'file' : 'default'
  const keySource = toKeySource(named, beside)
  reader.show(PATH, keySource.kind === 'command' ? `command:${BLANK}` : named, origin)
  if (vault?.web3signer === undefined) return { directory, keySource }
  return { directory, keySource, web3signerUrl: reader.fileUrl(['vault', 'web3signer'], vault.web3signer, NODE_URL) }
}

/** Only the file beside the vault is made where it is missing: another one was named for a key that is there. */
function toKeySource(text: string, beside: string): KeySource {
  const [, kind, rest = ''] = /^(env|file|command):(.*)$/s.exec(text) ?? []
  if (kind === 'env') return { kind: 'environment', variable: rest }
  return kind === 'command' ? { kind, command: rest } : { kind: 'file', file: rest, mayCreate: rest === beside }
}
