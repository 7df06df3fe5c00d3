import { join } from 'node:path'
import { Check } from 'typebox/schema'
import type { KeySource } from '../key-vault/key-source.ts'
import { given } from './environment.ts'
import { type FileSettings, VaultKey } from './rules.ts'
import { BLANK, type SettingReader } from './setting-reader.ts'
import type { VaultConfig } from './types.ts'

const VARIABLE = 'VAULT_KEY'
const PATH = ['vault', 'key']

/** Where the keys of validators are, and the key that they are sealed with: a file beside them unless it is named. */
export function readVault(reader: SettingReader, { vault }: FileSettings, dataDirectory: string): VaultConfig {
  const directory = join(dataDirectory, 'vault')
  const text = given(reader.env, VARIABLE)
  // Not repeated in the sentence: it may be the key itself.
  if (text !== undefined && !Check(VaultKey, text))
    reader.refuse(`${VARIABLE} is not ${VaultKey.expected}; e.g. ${VARIABLE}=${VaultKey.example}.`)
  const named = text ?? vault?.key
  if (named === undefined) {
    const file = join(dataDirectory, 'vault.key')
    reader.show(PATH, `file:${file}`, 'default')
    return { directory, keySource: { kind: 'file', file, mayCreate: true } }
  }
  const keySource = toKeySource(named)
  reader.show(PATH, keySource.kind === 'command' ? `command:${BLANK}` : named, text === undefined ? 'file' : VARIABLE)
  return { directory, keySource }
}

function toKeySource(text: string): KeySource {
  const [, kind, rest = ''] = /^(env|file|command):(.*)$/s.exec(text) ?? []
  if (kind === 'env') return { kind: 'environment', variable: rest }
  return kind === 'command' ? { kind, command: rest } : { kind: 'file', file: rest, mayCreate: false }
}
