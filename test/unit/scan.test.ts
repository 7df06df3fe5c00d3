import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Scan, scanAttestationRewards, scanSyncRewards, scanValidators } from '../../infra/beacon/tables.ts'
import { AppError } from '../../schemas/errors.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { tries } from '../long-form.ts'

const INDEX_MAX = 5_000
const everything = { wanted: new Uint8Array(INDEX_MAX + 1).fill(1), rowsHint: 4 }

/** Scans whole bodies, or pieces of as many bytes. */
function read<Table>(
  scan: Scan<Table>,
  bodies: readonly Uint8Array[],
  options = everything,
  pieceBytes = Number.MAX_SAFE_INTEGER,
): Table {
  const table = scan(options)
  for (const body of bodies) {
    for (let from = 0; from < body.length; from += pieceBytes) table.push(body.subarray(from, from + pieceBytes))
    table.end()
  }
  return table.columns()
}

const bytes = (text: string) => new TextEncoder().encode(text)
const U64_MAX = 2n ** 64n - 1n

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
const extraValue = fc.json({ maxDepth: 1 })
const integerText = (value: bigint, quoted: boolean) => (quoted ? `"${value}"` : String(value))

/** Text of a JSON object with members in random order, random whitespace and unknown members. */
function objectText(members: Readonly<Record<string, string>>): fc.Arbitrary<string> {
  const extras = fc.uniqueArray(fc.tuple(fc.stringMatching(/^x[a-z"\\]{0,6}$/), extraValue), {
    maxLength: 2,
    selector: ([key]) => key,
  })
  return fc.tuple(extras, space, space).chain(([more, before, after]) => {
    const all = [...Object.entries(members), ...more]
    return fc
      .shuffledSubarray(all, { minLength: all.length })
      .map(
        (list) =>
          `{${list.map(([key, value]) => `${before}${JSON.stringify(key)}${after}:${before}${value}${after}`).join(',')}}`,
      )
  })
}

const rewardRow = fc
  .record({
    validator_index: fc.integer({ min: 0, max: INDEX_MAX }),
    head: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    target: fc.bigInt({ min: -100_000n, max: 100_000n }),
    source: fc.bigInt({ min: -(2n ** 53n), max: 2n ** 53n }),
    inactivity: fc.bigInt({ min: -(2n ** 40n), max: 0n }),
    quoted: fc.boolean(),
  })
  .chain(({ quoted, ...row }) =>
    objectText(
      Object.fromEntries(Object.entries(row).map(([key, value]) => [key, integerText(BigInt(value), quoted)])),
    ).map((text) => ({ row, text })),
  )

const rewardsBody = fc
  .uniqueArray(rewardRow, { maxLength: 6, selector: ({ row }) => row.validator_index })
  .chain((rows) =>
    fc.tuple(space, extraValue).chain(([gap, ideal]) =>
      objectText({
        ideal_rewards: ideal,
        total_rewards: `[${gap}${rows.map(({ text }) => text).join(`${gap},`)}${gap}]`,
      })
        .chain((data) => objectText({ data, execution_optimistic: 'false' }))
        .map((text) => ({ rows: rows.map(({ row }) => row), text })),
    ),
  )

test('a rewards body reads as JSON.parse reads it, whatever its whitespace, key order, extra keys and quotes', () => {
  fc.assert(
    fc.property(rewardsBody, ({ rows, text }) => {
      const columns = read(scanAttestationRewards, [bytes(text)])
      const sorted = rows.toSorted((a, b) => a.validator_index - b.validator_index)
      expect(Array.from(columns.validatorIndex)).toEqual(sorted.map((row) => row.validator_index))
      expect(Array.from(columns.headGwei)).toEqual(sorted.map((row) => row.head))
      expect(Array.from(columns.targetGwei)).toEqual(sorted.map((row) => row.target))
      expect(Array.from(columns.sourceGwei)).toEqual(sorted.map((row) => row.source))
      expect(Array.from(columns.inactivityGwei)).toEqual(sorted.map((row) => row.inactivity))
      expect(() => JSON.parse(text)).not.toThrow()
    }),
  )
})

function faultOf(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error instanceof AppError ? error.code : error
  }
}

test('a rewards body that is cut at any byte is malformed', () => {
  fc.assert(
    fc.property(rewardsBody, ({ text }) => {
      const whole = bytes(text)
      const accepted = Array.from({ length: whole.length }, (_, length) => length).filter((length) => {
        return faultOf(() => read(scanAttestationRewards, [whole.subarray(0, length)])) !== 'node_malformed'
      })
      expect(accepted).toEqual([])
    }),
    { numRuns: tries(5, 250) },
  )
})

const validator = {
  pubkey: `"0x${'ab'.repeat(48)}"`,
  withdrawal_credentials: `"0x${'01'.repeat(32)}"`,
  effective_balance: '"32000000000"',
  slashed: 'false',
  activation_eligibility_epoch: '"0"',
  activation_epoch: '"0"',
  exit_epoch: `"${U64_MAX}"`,
  withdrawable_epoch: `"${U64_MAX}"`,
}

function validatorText(changes: Readonly<Record<string, string>>, index = '"7"', status = '"active_ongoing"'): string {
  const inner = Object.entries({ ...validator, ...changes })
    .map(([key, value]) => `"${key}":${value}`)
    .join(',')
  return `{"data":[{"index":${index},"balance":"32000000001","status":${status},"validator":{${inner}}}]}`
}

test('states keep 64-bit epochs, whole effective balances and statuses by their code', () => {
  const columns = read(scanValidators, [bytes(validatorText({ slashed: 'true', exit_epoch: '"194048"' }))])
  expect(columns).toEqual({
    validatorIndex: Uint32Array.of(7),
    balanceGwei: BigInt64Array.of(32_000_000_001n),
    effectiveBalanceEth: Uint32Array.of(32),
    status: Uint8Array.of(VALIDATOR_STATUSES.indexOf('active_ongoing')),
    slashed: Uint8Array.of(1),
    activationEligibilityEpoch: BigUint64Array.of(0n),
    activationEpoch: BigUint64Array.of(0n),
    exitEpoch: BigUint64Array.of(194_048n),
    withdrawableEpoch: BigUint64Array.of(U64_MAX),
  })
})

test.each([
  ['an index beyond 32 bits', validatorText({}, '"4294967296"')],
  ['an epoch beyond 64 bits', validatorText({ exit_epoch: '"18446744073709551616"' })],
  ['a fraction', validatorText({ activation_epoch: '1.5' })],
  ['an exponent', validatorText({ activation_epoch: '1e3' })],
  ['an empty number', validatorText({ activation_epoch: '""' })],
  ['null for a number', validatorText({ activation_epoch: 'null' })],
  ['an effective balance that is not whole', validatorText({ effective_balance: '"32000000001"' })],
  ['an unknown status', validatorText({}, '"7"', '"asleep"')],
  ['a status of which another is the beginning', validatorText({}, '"7"', '"active_ongoingly"')],
  ['a row without a field', validatorText({}).replace('"slashed":false,', '')],
  ['a row with a field twice', validatorText({}).replace('"slashed":false', '"slashed":false,"slashed":true')],
  ['rows twice', '{"data":[],"data":[]}'],
  ['no rows', '{"dada":[]}'],
  ['an object in place of the rows', '{"data":{}}'],
  ['a row that is not an object', '{"data":[7]}'],
  ['something after the document', '{"data":[]}x'],
  ['an empty body', ''],
  ['a comma too many', '{"data":[],}'],
])('%s is malformed', (_, text) => {
  expect(() => read(scanValidators, [bytes(text)])).toThrow(expect.objectContaining({ code: 'node_malformed' }))
})

// Rows that lie like the row before are read another way than those that do not: both must say the same of every row.
const aLittleWrong = fc.record({
  row: fc.nat(2),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  byte: fc.constantFrom(...'"\\,:{}[] 0159-ftx\u00ff'),
  kind: fc.constantFrom('replace', 'insert', 'remove'),
})

type Damage = typeof aLittleWrong extends fc.Arbitrary<infer Value> ? Value : never

function damaged(rows: readonly string[], { row, at, byte, kind }: Damage): readonly string[] {
  return rows.map((text, i) => {
    if (i !== row) return text
    const place = Math.floor(at * text.length)
    return text.slice(0, place) + (kind === 'remove' ? '' : byte) + text.slice(kind === 'insert' ? place : place + 1)
  })
}

const validatorRow = fc
  .record({
    index: fc.integer({ min: 0, max: INDEX_MAX }),
    balance: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    status: fc.constantFrom(...VALIDATOR_STATUSES),
    effective: fc.integer({ min: 0, max: 2_048 }),
    slashed: fc.boolean(),
    epochs: fc.tuple(
      ...Array.from({ length: 3 }, () => fc.oneof(fc.bigInt({ min: 0n, max: U64_MAX }), fc.constant(U64_MAX))),
    ),
  })
  .map(({ index, balance, status, effective, slashed, epochs: [activation, exit, withdrawable] }) => {
    const inner = { ...validator, effective_balance: `"${effective}000000000"`, slashed: String(slashed) }
    const epochs = {
      activation_epoch: `"${activation}"`,
      exit_epoch: `"${exit}"`,
      withdrawable_epoch: `"${withdrawable}"`,
    }
    const members = Object.entries({ ...inner, ...epochs }).map(([key, value]) => `"${key}":${value}`)
    return `{"index":"${index}","balance":"${balance}","status":"${status}","validator":{${members.join(',')}}}`
  })

function outcome(rows: readonly string[]): unknown {
  return outcomeOf(() => read(scanValidators, [bytes(`{"data":[${rows.join(',')}]}`)]))
}

function outcomeOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
}

test('a row that lies like the one before is read like any other', () => {
  fc.assert(
    fc.property(fc.array(validatorRow, { minLength: 3, maxLength: 3 }), fc.option(aLittleWrong), (rows, wrong) => {
      const alike = wrong === null ? rows : damaged(rows, wrong)
      // Other white space in every row: none lies like another.
      const unlike = alike.map((text, i) => text.replace('"index"', `${' '.repeat(i)}"index"`))
      expect(outcome(alike)).toEqual(outcome(unlike))
    }),
    { numRuns: tries(2_000, 100_000) },
  )
})

test('a body reads the same in pieces of any size, whole or not', () => {
  const row = (index: number) => `{"validator_index":"${index}","head":"1","target":"-2","source":"3","inactivity":"0"}`
  // Heads, tails and rows longer than a piece, and longer than what is held at once.
  const long = fc.constantFrom(0, 10, 5_000, 70_000)
  const body = fc.tuple(long, long, long, fc.nat(60)).map(([head, tail, gap, rows]) => {
    const all = Array.from({ length: rows }, (_, i) => (i % 7 === 3 ? ' '.repeat(gap) : '') + row(i))
    const ideal = `"ideal_rewards":[${Array.from({ length: head / 5 }, () => '{"a":1}').join(',')}]`
    return `{"x":"${'y'.repeat(tail)}","data":{${ideal},"total_rewards":[${all.join(',')}],"z":"${'y'.repeat(tail)}"}}`
  })
  const damage = fc.option(
    fc.tuple(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), fc.constantFrom('', '"', '}', ',')),
  )
  fc.assert(
    fc.property(body, fc.integer({ min: 1, max: 100_000 }), damage, (text, pieceBytes, wrong) => {
      const at = wrong === null ? 0 : Math.floor(wrong[0] * text.length)
      const sent = bytes(wrong === null ? text : text.slice(0, at) + wrong[1] + text.slice(at + 1))
      const scanned = (size?: number) => outcomeOf(() => read(scanAttestationRewards, [sent], everything, size))
      expect(scanned(pieceBytes)).toEqual(scanned())
    }),
    { numRuns: tries(300, 20_000) },
  )
})

test('a key that is written with escapes is the same key', () => {
  const text = validatorText({}).replace('"slashed"', '"sl\\u0061shed"')
  expect(read(scanValidators, [bytes(text)]).slashed).toEqual(Uint8Array.of(0))
})

test('rows of validators that were not asked for are passed over', () => {
  const row = (index: number) => `{"validator_index":"${index}","reward":"${index * 10}"}`
  const body = bytes(`{"data":[${[9, 3, 5_500, 4].map(row).join(',')}]}`)
  const wanted = Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 0, 0, 1)
  const { validatorIndex, syncGwei } = read(scanSyncRewards, [body], { wanted, rowsHint: 2 })
  expect(Array.from(validatorIndex)).toEqual([3, 9])
  expect(Array.from(syncGwei)).toEqual([30n, 90n])
})

test('rewards of several seats are summed', () => {
  const body = bytes(
    '{"data":[{"validator_index":"5","reward":"-7"},{"validator_index":"2","reward":1},{"validator_index":"5","reward":"9"}]}',
  )
  const { validatorIndex, syncGwei } = read(scanSyncRewards, [body])
  expect(Array.from(validatorIndex)).toEqual([2, 5])
  expect(Array.from(syncGwei)).toEqual([1n, 2n])
})

test('two rows of one validator are malformed where there can be only one', () => {
  const row = '{"validator_index":"5","head":"1","target":"1","source":"1","inactivity":"0"}'
  const body = bytes(`{"data":{"total_rewards":[${row},${row}]}}`)
  expect(() => read(scanAttestationRewards, [body])).toThrow('two rows for validator 5')
})

test('the parts of a question that was asked in pieces become one table', () => {
  const body = (index: number) => bytes(`{"data":[{"validator_index":"${index}","reward":"1"}]}`)
  const { validatorIndex } = read(scanSyncRewards, [body(8), body(2), body(5)])
  expect(Array.from(validatorIndex)).toEqual([2, 5, 8])
})
