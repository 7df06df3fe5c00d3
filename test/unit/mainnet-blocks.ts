import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fromRlp } from 'viem'
import type { RlpItem } from '../../schemas/eth/rlp.ts'
import { fixturePath, HAS_FIXTURES } from '../fixture-folder.ts'

// Real blocks of mainnet, where EPOCHLINE_FIXTURES says that they lie.

const FOLDER = HAS_FIXTURES ? fixturePath('execution') : ''
/** Their file names; none without the fixtures. */
export const MAINNET_BLOCKS = HAS_FIXTURES ? readdirSync(FOLDER).filter((name) => name.endsWith('.yaml')) : []

/** RLP of a byte string. */
export function bytesOf(value: RlpItem | undefined): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error('expected a byte string')
  return value
}

/** RLP of a list. */
export function listOf(value: RlpItem | undefined): readonly RlpItem[] {
  if (value === undefined || value instanceof Uint8Array) throw new Error('expected a list')
  return value
}

/** RLP of an integer. */
export function numberOf(value: RlpItem | undefined): bigint {
  return BigInt(`0x0${Buffer.from(bytesOf(value)).toString('hex')}`)
}

export interface MainnetBlock {
  readonly header: readonly RlpItem[]
  readonly body: readonly RlpItem[]
  readonly receipts: readonly RlpItem[]
}

/** A block of the fixtures by its file name. */
export function readBlock(file: string): MainnetBlock {
  const fields = Object.fromEntries(
    [...readFileSync(join(FOLDER, file), 'utf8').matchAll(/^(\w+):\s*"?0x([0-9a-f]*)"?/gm)].map((match) => [
      match[1],
      match[2] ?? '',
    ]),
  )
  const decode = (name: string) => listOf(fromRlp(Buffer.from(fields[name] ?? '', 'hex'), 'bytes'))
  return { header: decode('header'), body: decode('body'), receipts: decode('receipts') }
}
