import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Hex } from '../../../schemas/eth/hex.ts'
import { OWNER_ONLY, OWNER_ONLY_FOLDER } from '../../owner-only.ts'
import { replaceFile } from '../../replace-file.ts'
import { openJsonLines } from '../json-lines.ts'
import { readState } from '../state-file.ts'
import type { SignedUpTo } from './interchange.ts'

/** What happened to a key, and from which slot on it counts; and what it has signed, because that is asked for again when it is gone. */
export type ClientEntry =
  | { readonly kind: 'given'; readonly slot: number; readonly pubkey: Hex; readonly signed: SignedUpTo }
  | { readonly kind: 'taken'; readonly slot: number; readonly pubkey: Hex }
  | { readonly kind: 'fee_recipient'; readonly slot: number; readonly pubkey: Hex; readonly address: Hex | null }
  | { readonly kind: 'signature'; readonly pubkey: Hex; readonly root: Hex; readonly signature: Hex }

export interface KeyFile {
  readonly secretKey: Hex
  /** EIP-2334; empty where nobody knows. */
  readonly path: string
}

/** Where the validator client keeps what it has: its journal with the devnet's, keys and token for their owner alone. */
export interface ClientFiles {
  /** Who knows it may use the API. */
  readonly token: string
  /** In their order. */
  readonly entries: readonly ClientEntry[]
  /** Durable when it returns. */
  append(entry: ClientEntry): void
  key(pubkey: Hex): KeyFile | undefined
  keep(pubkey: Hex, key: KeyFile): void
  forget(pubkey: Hex): void
  kept(): readonly Hex[]
}

const FOLDER = 'validator-client'
const TOKEN_FILE = 'api-token.txt'
const JOURNAL_FILE = 'devnet-validators.jsonl'

/** The file with the token of a devnet's folder. */
export function tokenFileOf(directory: string): string {
  return join(directory, FOLDER, TOKEN_FILE)
}

/** Nothing is left when the process ends. */
export function openMemoryFiles(): ClientFiles {
  const keys = new Map<Hex, KeyFile>()
  return {
    token: newToken(),
    entries: [],
    append() {},
    key: (pubkey) => keys.get(pubkey),
    keep: (pubkey, key) => void keys.set(pubkey, key),
    forget: (pubkey) => void keys.delete(pubkey),
    kept: () => [...keys.keys()],
  }
}

export function openClientFiles(directory: string): ClientFiles {
  const folder = join(directory, FOLDER)
  mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
  chmodSync(folder, OWNER_ONLY_FOLDER)
  const { lines: entries, append } = openJsonLines<ClientEntry>(join(directory, JOURNAL_FILE))
  const fileOf = (pubkey: Hex): string => join(folder, `${pubkey}.json`)
  return {
    token: tokenOf(tokenFileOf(directory)),
    entries,
    append,
    key: (pubkey) => readState(fileOf(pubkey)) as KeyFile | undefined,
    keep: (pubkey, key) => replaceFile(fileOf(pubkey), JSON.stringify(key), OWNER_ONLY),
    forget: (pubkey) => rmSync(fileOf(pubkey), { force: true }),
    kept: () =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.json'))
        .map((name) => name.slice(0, -'.json'.length) as Hex),
  }
}

function newToken(): string {
  return `api-token-0x${randomBytes(32).toString('hex')}`
}

function tokenOf(file: string): string {
  const known = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (known !== '') return known
  const token = newToken()
  replaceFile(file, token, OWNER_ONLY)
  return token
}
