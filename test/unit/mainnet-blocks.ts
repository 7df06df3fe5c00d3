import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fromRlp, parseTransaction, toHex } from 'viem'
import type { CommittedReceipt } from '../../schemas/eth/receipts.ts'
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

/** A receipt of the fixtures: type, status, cumulative gas, logs. */
export function toReceipt(value: RlpItem): CommittedReceipt {
  const [type, status, cumulativeGasUsed, logs] = listOf(value)
  return {
    type: Number(numberOf(type)),
    status: numberOf(status) === 1n ? 'success' : 'reverted',
    cumulativeGasUsed: numberOf(cumulativeGasUsed),
    logs: listOf(logs).map((log) => {
      const [address, topics, data] = listOf(log)
      return {
        address: toHex(bytesOf(address)),
        topics: listOf(topics).map((topic) => toHex(bytesOf(topic))),
        data: toHex(bytesOf(data)),
      }
    }),
  }
}

/** Names of a header's fields in the order of their RLP list, up to the fork that the list ends with. */
const HEADER_FIELDS = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'difficulty'],
  ...[
    'number',
    'gasLimit',
    'gasUsed',
    'timestamp',
    'extraData',
    'mixHash',
    'nonce',
    'baseFeePerGas',
    'withdrawalsRoot',
  ],
  ...['blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'],
]
const BYTES_FIELDS = /Root|Hash|Uncles|miner|Bloom|extraData|nonce/

/** A header as JSON-RPC tells it, without its hash. */
export function headerOf(fields: readonly RlpItem[]) {
  const hex = (item: RlpItem, name: string) => {
    const text = toHex(bytesOf(item))
    return BYTES_FIELDS.test(name) ? text : `0x${BigInt(text === '0x' ? 0 : text).toString(16)}`
  }
  return Object.fromEntries(fields.map((item, i) => [HEADER_FIELDS[i], hex(item, HEADER_FIELDS[i] ?? '')]))
}

/** What JSON-RPC tells of a transaction's bytes. */
export function toRpc(raw: `0x${string}`) {
  const parsed = parseTransaction(raw)
  const known = Object.entries(parsed).map(([name, value]) => {
    const isNumber = typeof value === 'bigint' || typeof value === 'number'
    return [name === 'data' ? 'input' : name, isNumber ? `0x${value.toString(16)}` : value]
  })
  const type = { legacy: '0x0', eip2930: '0x1', eip1559: '0x2', eip4844: '0x3', eip7702: '0x4' }[
    parsed.type ?? 'legacy'
  ]
  return { value: '0x0', ...Object.fromEntries(known), type }
}
