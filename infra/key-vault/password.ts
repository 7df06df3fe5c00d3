import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { AppError } from '../../schemas/errors.ts'
import type { PasswordSource } from '../ports/key-keeping.ts'

const PASSWORD_BYTES_MAX = 4 * 1024

/** A password as EIP-2335 takes it, for the caller to overwrite. Throws AppError `usage`, without a part of it, when there is none. */
export function readPassword(source: PasswordSource): Buffer {
  const password = normalizedPassword(readSource(source))
  if (password.length > 0) return password
  throw new AppError('usage', `There is no password in ${nameOf(source)}: it is empty.`)
}

function nameOf(source: PasswordSource): string {
  return source.kind === 'file' ? `the file ${source.file}` : `the environment variable ${source.variable}`
}

function readSource(source: PasswordSource): Buffer {
  if (source.kind === 'file') return readFile(source.file)
  const text = process.env[source.variable]
  if (text !== undefined) return Buffer.from(text)
  throw new AppError('usage', `There is no environment variable ${source.variable}: it has to hold the password.`)
}

/** Into one buffer: what grows while it is read leaves pieces behind. */
function readFile(file: string): Buffer {
  try {
    const descriptor = openSync(file, 'r')
    try {
      if (fstatSync(descriptor).size > PASSWORD_BYTES_MAX) {
        throw new AppError('usage', `The file ${file} is longer than a password of ${PASSWORD_BYTES_MAX} bytes.`)
      }
      const bytes = Buffer.alloc(PASSWORD_BYTES_MAX)
      return bytes.subarray(0, readSync(descriptor, bytes))
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    if (cause instanceof AppError || !(cause instanceof Error && 'code' in cause)) throw cause
    throw new AppError('usage', `The file with the password, ${file}, cannot be read (${cause.code}).`, { cause })
  }
}

/**
 * A password as EIP-2335 takes it: NFKD, without control codes (C0, C1, Delete), in UTF-8. Overwrites what it is given; ASCII never
 * becomes a text, which could not be overwritten.
 */
export function normalizedPassword(bytes: Uint8Array): Buffer {
  const normal = bytes.every((byte) => byte < 0x80) ? Buffer.from(bytes) : nfkdOf(bytes)
  bytes.fill(0)
  let length = 0
  for (let at = 0; at < normal.length; at++) {
    const byte = normal[at] ?? 0
    // In UTF-8 the C1 codes U+0080..U+009F are 0xc2 and the code itself.
    const isC1 = byte === 0xc2 && (normal[at + 1] ?? 0xff) < 0xa0
    if (isC1) at++
    if (isC1 || byte < 0x20 || byte === 0x7f) continue
    normal[length++] = byte
  }
  normal.fill(0, length)
  return normal.subarray(0, length)
}

function nfkdOf(bytes: Uint8Array): Buffer {
  return Buffer.from(new TextDecoder().decode(bytes).normalize('NFKD'))
}
