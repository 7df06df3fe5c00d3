import { join } from 'node:path'
import { Check } from 'typebox/schema'
import type { KeySource } from '../key-vault/key-source.ts'
import { given } from './environment.ts'
import { NODE_URL } from './references.ts'
import { type FileSettings, VaultKey } from './rules.ts'
import { BLANK, type SettingReader } from './setting-reader.ts'
import type { VaultConfig } from './types.ts'

interface KeyPlace {
  /** Of the file: its section has the key. */
  readonly path: readonly string[]
  readonly variable: string
  readonly rule: typeof VaultKey
  readonly inFile: string | undefined
  /** The file that has it where nothing is said. */
  readonly beside: string
}

/** Where a key is that seals secrets. Only the file beside what it seals is made where it is missing. */
export function readKeySource(reader: SettingReader, { path, variable, rule, inFile, beside }: KeyPlace): KeySource {
  const text = given(reader.env, variable)
  if (text === undefined && reader.env[variable] !== undefined)
    reader.refuse(`${variable} is empty: leave it out, or say where the key is, e.g. ${variable}=${rule.example}.`)
  // Not repeated in the sentence: it may be the key itself.
  if (text !== undefined && !Check(rule, text))
    reader.refuse(`${variable} is not ${rule.expected}; e.g. ${variable}=${rule.example}.`)
  const named = text ?? inFile ?? `file:${beside}`
  const origin = text !== undefined ? variable : inFile !== undefined ? 'file' : 'default'
  const keySource = toKeySource(named, beside)
  reader.show(path, keySource.kind === 'command' ? `command:${BLANK}` : named, origin)
  return keySource
}

/** Where the keys of validators are, and the key that they are sealed with: a file beside them unless it is named. */
export function readVault(reader: SettingReader, { vault }: FileSettings, dataDirectory: string): VaultConfig {
  const directory = join(dataDirectory, 'vault')
  const place = { path: ['vault', 'key'], variable: 'VAULT_KEY', rule: VaultKey, inFile: vault?.key }
  const keySource = readKeySource(reader, { ...place, beside: join(dataDirectory, 'vault.key') })
  if (vault?.web3signer === undefined) return { directory, keySource }
  return { directory, keySource, web3signerUrl: reader.fileUrl(['vault', 'web3signer'], vault.web3signer, NODE_URL) }
}

/** Only the file beside what it seals is made where it is missing: another one was named for a key that is there. */
function toKeySource(text: string, beside: string): KeySource {
  const [, kind, rest = ''] = /^(env|file|command):(.*)$/s.exec(text) ?? []
  if (kind === 'env') return { kind: 'environment', variable: rest }
  return kind === 'command' ? { kind, command: rest } : { kind: 'file', file: rest, mayCreate: rest === beside }
}
