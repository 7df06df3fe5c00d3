import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import { makeFolders, syncFolder } from '../durable-folder.ts'
import { SEALING_KEY_BYTES } from './sealing.ts'

/** Where the key-encryption key is: 32 bytes, each time as 64 hex digits, with or without 0x and white space around them. */
export type KeySource =
  /** `mayCreate`: a key is made where there is neither this file nor a vault yet. */
  | { readonly kind: 'file'; readonly file: string; readonly mayCreate: boolean }
  | { readonly kind: 'environment'; readonly variable: string }
  /** A line for /bin/sh, whose output is the key. */
  | { readonly kind: 'command'; readonly command: string }

/** A command may ask a key service over a network; nobody is there to type a password. */
const COMMAND_TIMEOUT_MS = 30_000
const COMMAND_OUTPUT_BYTES_MAX = 1024
const ONLY_ITS_OWNER = 0o600

/** A source in words, for sentences. The command is not shown: it may hold a password. */
export function nameOfSource(source: KeySource): string {
  switch (source.kind) {
    case 'file':
      return `the file ${source.file}`
    case 'environment':
      return `the environment variable ${source.variable}`
    case 'command':
      return 'the output of the configured command'
  }
}

/** Whose key it is, for sentences: what it is that is sealed. */
const KEY_VAULT = 'key vault'

/**
 * The key-encryption key, for the caller to overwrite. `isNew`: nothing is sealed yet, so a missing file may be made.
 * Throws AppError `usage` when there is no key, or something that is none.
 */
export function readSealingKey(source: KeySource, isNew: boolean, whose = KEY_VAULT): Buffer {
  const text = readSource(source, isNew, whose)
  const key = parseHexKey(text)
  text.fill(0)
  if (key !== undefined) return key
  throw new AppError(
    'usage',
    `The ${whose}'s key is ${SEALING_KEY_BYTES} bytes, written as ${2 * SEALING_KEY_BYTES} hex digits; ${nameOfSource(source)} is something else.`,
  )
}

function readSource(source: KeySource, isNew: boolean, whose: string): Buffer {
  switch (source.kind) {
    case 'file':
      if (source.mayCreate && isNew && !existsSync(source.file)) writeNewKey(source.file, whose)
      return readKeyFile(source.file, isNew, whose)
    case 'environment': {
      const text = process.env[source.variable]
      if (text !== undefined) return Buffer.from(text)
      throw new AppError(
        'usage',
        `There is no environment variable ${source.variable}: it has to hold the ${whose}'s key.`,
      )
    }
    case 'command':
      return outputOf(source.command, whose)
  }
}

function readKeyFile(file: string, isNew: boolean, whose: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    const remedy = isNew
      ? 'write one there, e.g. with openssl rand -hex 32.'
      : 'put it back; without it nothing that is sealed with it can be opened.'
    throw new AppError('usage', `The ${whose}'s key file ${file} cannot be read (${cause.code}): ${remedy}`, { cause })
  }
}

/**
 * The key is whole and on the disk before it has its name, and takes the name from no other key: of two vaults that begin at once
 * with one file, neither seals with a key that the other has replaced.
 */
function writeNewKey(file: string, whose: string): void {
  const unnamed = `${file}.${process.pid}.new`
  const key = randomBytes(SEALING_KEY_BYTES)
  const text = Buffer.from(`${key.toString('hex')}\n`)
  try {
    makeFolders(dirname(file))
    writeFileSync(unnamed, text, { mode: ONLY_ITS_OWNER, flush: true })
    nameFile(unnamed, file)
    rmSync(unnamed)
    syncFolder(dirname(file))
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    throw new AppError(
      'usage',
      `A key for the ${whose} cannot be written to ${file} (${cause.code}): see to its folder's owner and rights.`,
      { cause },
    )
  } finally {
    key.fill(0)
    text.fill(0)
  }
}

/** Gives the file this name, unless another one has it. */
function nameFile(unnamed: string, file: string): void {
  try {
    linkSync(unnamed, file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

function outputOf(command: string, whose: string): Buffer {
  try {
    return execFileSync('/bin/sh', ['-c', command], {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: COMMAND_TIMEOUT_MS,
      maxBuffer: COMMAND_OUTPUT_BYTES_MAX,
    })
  } catch (error) {
    if (!(error instanceof Error && ('status' in error || 'code' in error))) throw error
    // Node's error holds the command and what it has written: neither may be shown.
    throw new AppError(
      'usage',
      `The command for the ${whose}'s key gave none (${reasonOf(error)}): run it by hand to see what it says. It has ${COMMAND_TIMEOUT_MS / 1000} s and writes ${2 * SEALING_KEY_BYTES} hex digits.`,
    )
  }
}

function reasonOf(error: { readonly status?: unknown; readonly code?: unknown; readonly signal?: unknown }): string {
  if (typeof error.status === 'number') return `exit code ${error.status}`
  return String(error.code ?? error.signal)
}

/** Without a text in between: a string cannot be overwritten. */
function parseHexKey(text: Uint8Array): Buffer | undefined {
  let [from, to] = [0, text.length]
  while (from < to && isSpace(text[from])) from++
  while (to > from && isSpace(text[to - 1])) to--
  if (text[from] === 0x30 && (text[from + 1] === 0x78 || text[from + 1] === 0x58)) from += 2 // 0x
  if (to - from !== 2 * SEALING_KEY_BYTES) return undefined
  const key = Buffer.alloc(SEALING_KEY_BYTES)
  for (let i = 0; i < SEALING_KEY_BYTES; i++) {
    const high = digitOf(text[from + 2 * i])
    const low = digitOf(text[from + 2 * i + 1])
    if (high === undefined || low === undefined) return undefined
    key[i] = high * 16 + low
  }
  return key
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function digitOf(byte = 0): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : undefined
}
