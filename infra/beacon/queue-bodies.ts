import { AppError } from '../../schemas/errors.ts'
import { malformed } from '../nodes/json.ts'
import type { NodeAnswer } from '../nodes/nodes.ts'
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, JsonReader, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-reader.ts'
import { isJson } from './route.ts'

/**
 * Bodies of a state's queues: in SSZ, records of one length; in JSON, 22 MB for 50,000 deposits. Both are read into columns without an
 * object or a text per record.
 */

/** A field of a record: its key in JSON, and where it lies in SSZ. */
interface RecordField {
  readonly key: string
  readonly at: number
  /** An unsigned integer of 64 bits, or the first 8 of more bytes. */
  readonly kind: 'u64' | 'prefix'
}

export interface RecordShape<Name extends string> {
  readonly bytes: number
  readonly fields: Readonly<Record<Name, RecordField>>
}

/** consensus-specs, electra: PendingDeposit */
export const PENDING_DEPOSIT: RecordShape<'pubkeyPrefix' | 'amountGwei' | 'slot'> = {
  bytes: 192,
  fields: {
    pubkeyPrefix: { key: 'pubkey', at: 0, kind: 'prefix' },
    amountGwei: { key: 'amount', at: 80, kind: 'u64' },
    slot: { key: 'slot', at: 184, kind: 'u64' },
  },
}

/** consensus-specs, electra: PendingPartialWithdrawal */
export const PENDING_PARTIAL: RecordShape<'validatorIndex' | 'amountGwei' | 'withdrawableEpoch'> = {
  bytes: 24,
  fields: {
    validatorIndex: { key: 'validator_index', at: 0, kind: 'u64' },
    amountGwei: { key: 'amount', at: 8, kind: 'u64' },
    withdrawableEpoch: { key: 'withdrawable_epoch', at: 16, kind: 'u64' },
  },
}

/** consensus-specs, electra: PendingConsolidation */
export const PENDING_CONSOLIDATION: RecordShape<'sourceIndex'> = {
  bytes: 16,
  fields: { sourceIndex: { key: 'source_index', at: 0, kind: 'u64' } },
}

const PUBKEY_BYTES = 48
const PUBKEY = /^"(0x[0-9a-f]{96})"$/

/** Public keys of pending deposits, lower-case hex, in the queue's order. Throws AppError `node_malformed`. */
export function readPubkeys({ headers, body }: NodeAnswer): readonly string[] {
  if (isJson(headers)) return pubkeysOfJson(body)
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return Array.from({ length: Math.floor(bytes.length / PENDING_DEPOSIT.bytes) }, (_, row) => {
    const start = row * PENDING_DEPOSIT.bytes + PENDING_DEPOSIT.fields.pubkeyPrefix.at
    return `0x${bytes.toString('hex', start, start + PUBKEY_BYTES)}`
  })
}

function pubkeysOfJson(body: Uint8Array): readonly string[] {
  const json = new JsonReader(body)
  const pubkeys: string[] = []
  forMembers(json, (key) => {
    if (key !== 'data') return json.skipValue(0)
    forElements(json, () => {
      forMembers(json, (name) => {
        const start = json.at
        json.skipValue(0)
        if (name !== PENDING_DEPOSIT.fields.pubkeyPrefix.key) return
        const text = Buffer.from(json.bytes.subarray(start, json.at)).toString('latin1').toLowerCase()
        const pubkey = PUBKEY.exec(text)?.[1]
        if (pubkey === undefined) throw malformed('a public key is not 48 bytes of hex')
        pubkeys.push(pubkey)
      })
    })
  })
  return pubkeys
}

type Columns<Name extends string> = Readonly<Record<Name, BigUint64Array<ArrayBuffer>>>

/** The records of an answer. Throws AppError `node_malformed`. */
export function readRecords<Name extends string>(shape: RecordShape<Name>, answer: NodeAnswer): Columns<Name> {
  return isJson(answer.headers) ? recordsOfJson(shape, answer.body) : recordsOfSsz(shape, answer.body)
}

function recordsOfSsz<Name extends string>({ bytes, fields }: RecordShape<Name>, body: Uint8Array): Columns<Name> {
  const rows = body.length / bytes
  if (!Number.isInteger(rows)) throw malformed(`an answer of ${body.length} bytes has no whole records of ${bytes}`)
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  return columnsOf(fields, rows, ({ at, kind }, row) => view.getBigUint64(row * bytes + at, kind === 'u64'))
}

function recordsOfJson<Name extends string>({ fields }: RecordShape<Name>, body: Uint8Array): Columns<Name> {
  const byKey = new Map<string, { readonly kind: RecordField['kind']; readonly values: bigint[] }>()
  for (const { key, kind } of Object.values<RecordField>(fields)) byKey.set(key, { kind, values: [] })
  const json = new JsonReader(body)
  let rows = 0
  forMembers(json, (key) => {
    if (key !== 'data') return json.skipValue(0)
    forElements(json, () => {
      rows++
      forMembers(json, (name) => {
        const field = byKey.get(name)
        if (field === undefined) json.skipValue(0)
        else field.values.push(field.kind === 'u64' ? readAmount(json) : readPrefix(json))
      })
    })
  })
  json.space()
  if (json.at !== body.length) json.fail('something stands after the document')
  const values = ({ key }: RecordField) => byKey.get(key)?.values ?? []
  for (const field of Object.values<RecordField>(fields)) {
    if (values(field).length !== rows) throw malformed(`the answer's records do not all have one ${field.key}`)
  }
  return columnsOf(fields, rows, (field, row) => values(field)[row] as bigint)
}

function columnsOf<Name extends string>(
  fields: RecordShape<Name>['fields'],
  rows: number,
  valueAt: (field: RecordField, row: number) => bigint,
): Columns<Name> {
  const columns = Object.entries<RecordField>(fields).map(([name, field]) => {
    const column = new BigUint64Array(rows)
    for (let row = 0; row < rows; row++) column[row] = valueAt(field, row)
    return [name, column] as const
  })
  return Object.fromEntries(columns) as Columns<Name> // the names are those of the fields
}

function forMembers(json: JsonReader, take: (key: string) => void): void {
  json.expect(OPEN_OBJECT)
  json.space()
  if (json.bytes[json.at] === CLOSE_OBJECT) {
    json.at++
    return
  }
  do {
    const key = json.keyText()
    json.expect(COLON)
    json.space()
    take(key)
  } while (json.another(CLOSE_OBJECT))
}

function forElements(json: JsonReader, take: () => void): void {
  json.expect(OPEN_ARRAY)
  json.space()
  if (json.bytes[json.at] === CLOSE_ARRAY) {
    json.at++
    return
  }
  do take()
  while (json.another(CLOSE_ARRAY))
}

function readAmount(json: JsonReader): bigint {
  json.integer(false)
  return (BigInt(json.hi) << 32n) | BigInt(json.lo)
}

const PREFIX_DIGITS = 16
const PREFIX = /^"0x([0-9a-fA-F]{16})$/

function readPrefix(json: JsonReader): bigint {
  const start = json.at
  if (json.bytes[start] !== QUOTE) json.fail('a hex text is missing')
  json.skipString()
  const text = Buffer.from(json.bytes.subarray(start, start + '"0x'.length + PREFIX_DIGITS))
  const digits = PREFIX.exec(text.toString('latin1'))?.[1]
  if (digits === undefined) throw new AppError('node_malformed', 'a public key is not hex', { retryable: true })
  return BigInt(`0x${digits}`)
}
