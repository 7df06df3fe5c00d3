import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InsertColumns, QueryLimits, Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate } from '../../infra/warehouse/migrate.ts'
import { AppError } from '../../schemas/errors.ts'
import { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { ColumnParts } from '../../schemas/tables/column-parts.ts'
import { KEYS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'

/** Limits that `open` must pass on, small enough to be reached in a test. */
export const CONTRACT_ROWS_MAX = 200_000

const UINT256_MAX = 2n ** 256n - 1n
const INT256_MIN = -(2n ** 255n)

/** What every warehouse does, whichever way ClickHouse is reached. `open` gives an empty database. */
export function warehouseContract(name: string, open: () => Promise<Warehouse>): void {
  describe(name, () => {
    let warehouse: Warehouse
    let tables = 0

    beforeAll(async () => {
      warehouse = await open()
    })
    afterAll(() => warehouse[Symbol.asyncDispose]())

    /** A new table with the columns; returns its name. */
    async function createTable(columns: string, engine = 'MergeTree ORDER BY tuple()'): Promise<string> {
      const table = `contract_${++tables}`
      await warehouse.command(`CREATE TABLE ${table} (${columns}) ENGINE = ${engine}`)
      return table
    }

    /** Inserts one column and reads it back in the order of insertion. */
    async function roundTrip(
      type: string,
      values: InsertColumns[string],
      rows: number,
      read = 'x',
    ): Promise<unknown[]> {
      const table = await createTable(`i UInt32, x ${type}`)
      await warehouse.insert(table, { i: Uint32Array.from({ length: rows }, (_, row) => row), x: values })
      const found = await warehouse.query<{ x: unknown }>(`SELECT ${read} AS x FROM ${table} ORDER BY i`)
      await warehouse.command(`DROP TABLE ${table}`)
      return found.map((row) => row.x)
    }

    async function failure(promise: Promise<unknown>): Promise<AppError> {
      const error = await promise.then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expect(error).toBeInstanceOf(AppError)
      return error as AppError
    }

    test.each([
      ['UInt8', Uint8Array.of(0, 255), [0, 255]],
      ['UInt16', Uint16Array.of(0, 65_535), [0, 65_535]],
      ['UInt32', Uint32Array.of(0, 4_294_967_295), [0, 4_294_967_295]],
      ['UInt64', BigUint64Array.of(0n, 2n ** 64n - 1n), ['0', '18446744073709551615']],
      ['Int8', Int32Array.of(-128, 127), [-128, 127]],
      ['Int16', Int32Array.of(-32_768, 32_767), [-32_768, 32_767]],
      ['Int32', Int32Array.of(-(2 ** 31), 2 ** 31 - 1), [-(2 ** 31), 2 ** 31 - 1]],
      ['Int64', BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n), ['-9223372036854775808', '9223372036854775807']],
      ['UInt128', [0n, 2n ** 128n - 1n], ['0', String(2n ** 128n - 1n)]],
      ['Int128', [-(2n ** 127n), -1n], [String(-(2n ** 127n)), '-1']],
      ['UInt256', [0n, UINT256_MAX], ['0', String(UINT256_MAX)]],
      ['Int256', [INT256_MIN, -1n], [String(INT256_MIN), '-1']],
      ['Bool', Uint8Array.of(0, 1), [false, true]],
      ["Enum8('full' = 1, 'missed' = 2)", Uint8Array.of(2, 1), ['missed', 'full']],
      ["Enum8('full' = 1, 'missed' = 2)", ['missed', 'full'], ['missed', 'full']],
      ["Enum8('full' = 0, 'missed' = 1)", new CodedTexts(['full', 'missed'], Uint8Array.of(1, 0)), ['missed', 'full']],
      ["Enum8('full' = 1, 'missed' = 2)", new CodedTexts(['missed', 'full'], Uint8Array.of(1, 0)), ['full', 'missed']],
      ['Date', Uint16Array.of(0, 20_000), ['1970-01-01', '2024-10-04']],
      ['Date32', Int32Array.of(-1, 20_000), ['1969-12-31', '2024-10-04']],
      ["DateTime('UTC')", Uint32Array.of(0, 1_606_824_023), ['1970-01-01 00:00:00', '2020-12-01 12:00:23']],
      [
        "DateTime64(3, 'UTC')",
        BigInt64Array.of(1n, 1_606_824_023_000n),
        ['1970-01-01 00:00:00.001', '2020-12-01 12:00:23.000'],
      ],
      ['String', ['', 'zażółć\n\n\0\t\'"\\'], ['', 'zażółć\n\n\0\t\'"\\']],
      ['LowCardinality(String)', ['source', 'source'], ['source', 'source']],
      ['LowCardinality(String)', new CodedTexts(['', 'b', 'a'], Uint8Array.of(2, 0)), ['a', '']],
      ['String', new CodedTexts(['b', 'a'], Uint8Array.of(1, 0)), ['a', 'b']],
      ['FixedString(4)', ['abcd', 'ef'], ['abcd', 'ef\0\0']],
      ['Nullable(UInt32)', Uint32Array.of(0, 7), [0, 7]],
    ] as const)('stores and returns %s up to its boundaries', async (type, values, expected) => {
      expect(await roundTrip(type, values as InsertColumns[string], 2)).toEqual(expected)
    })

    test('takes a FixedString as packed bytes', async () => {
      const bytes = Uint8Array.from({ length: 96 }, (_, at) => at)
      const found = await roundTrip('FixedString(48)', bytes, 2, 'hex(x)')
      expect(found.map((text) => String(text).toLowerCase()).join('')).toBe(Buffer.from(bytes).toString('hex'))
    })

    test.each([300, 70_000])('takes and returns %i different texts of a dictionary', async (texts) => {
      const values = Array.from({ length: texts + 10 }, (_, row) => (row % texts === 7 ? '' : `text ${row % texts}`))
      expect(await roundTrip('LowCardinality(String)', values, values.length)).toEqual(values)
    })

    test('returns rows of fixed width as words, however many there are', async () => {
      const rows = 300_000
      const sql = `SELECT toUInt32(number), number * 4294967296, toUInt256(number)
        FROM numbers({rows:UInt32}) ORDER BY number`
      const words = await warehouse.queryWords(sql, { rows })
      expect(words.length).toBe(rows * 11)
      const row = (number: number) => [...words.subarray(11 * number, 11 * number + 11)]
      for (const number of [0, 1, 255, 65_536, rows - 1])
        expect(row(number)).toEqual([number, 0, number, number, 0, 0, 0, 0, 0, 0, 0])
      expect(await warehouse.queryWords(`${sql} LIMIT 0`, { rows })).toEqual(new Uint32Array())
      const error = await failure(warehouse.queryWords('SELECT toUInt8(1)'))
      expect(error.message).toContain('1 bytes, which are no whole words')
      expect((await failure(warehouse.queryWords('SELECT nothing'))).code).toBe('warehouse')
    })

    test('keeps bytes that look like line feeds, whatever the column', async () => {
      const lineFeeds = Uint32Array.of(0x0a0a0a0a, 0x0a0a, 0x0d0a0d0a)
      expect(await roundTrip('UInt32', lineFeeds, 3)).toEqual([...lineFeeds])
    })

    test('returns any gwei and wei as they went in', async () => {
      const rows = fc.array(
        fc.tuple(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(0n, UINT256_MAX), fc.string({ unit: 'binary' })),
        { minLength: 1, maxLength: 200 },
      )
      const table = await createTable('i UInt32, run UInt32, gwei Int64, wei UInt256, text String')
      let run = 0
      await fc.assert(
        fc.asyncProperty(rows, async (values) => {
          run++
          await warehouse.insert(table, {
            i: Uint32Array.from(values.keys()),
            run: new Uint32Array(values.length).fill(run),
            gwei: BigInt64Array.from(values, ([gwei]) => gwei),
            wei: values.map(([, wei]) => wei),
            text: values.map(([, , text]) => text),
          })
          const found = await warehouse.query<{ gwei: string; wei: string; text: string }>(
            `SELECT gwei, wei, text FROM ${table} WHERE run = {run:UInt32} ORDER BY i`,
            { run },
          )
          expect(found.map((row) => [BigInt(row.gwei), BigInt(row.wei), row.text])).toEqual(
            values.map(([gwei, wei, text]) => [gwei, wei, Buffer.from(text).toString()]),
          )
        }),
        { numRuns: 25 },
      )
    })

    test('fills a column that the insert does not name with its default', async () => {
      const table = await createTable("a UInt32, b String DEFAULT concat('n', toString(a)), c Int64")
      await warehouse.insert(table, { a: Uint32Array.of(7) })
      expect(await warehouse.query(`SELECT * FROM ${table}`)).toEqual([{ a: 7, b: 'n7', c: '0' }])
    })

    test('sees a column that a migration has added since the last insert', async () => {
      const table = await createTable('a UInt32')
      await warehouse.insert(table, { a: Uint32Array.of(1) })
      await warehouse.command(`ALTER TABLE ${table} ADD COLUMN b UInt8`)
      await warehouse.insert(table, { a: Uint32Array.of(2), b: Uint8Array.of(9) })
      expect(await warehouse.query(`SELECT * FROM ${table} ORDER BY a`)).toEqual([
        { a: 1, b: 0 },
        { a: 2, b: 9 },
      ])
    })

    test('takes an insert of no rows as done', async () => {
      const table = await createTable('a UInt32, b String')
      await warehouse.insert(table, { a: new Uint32Array(0), b: [] })
      expect(await warehouse.query(`SELECT count() AS n FROM ${table}`)).toEqual([{ n: '0' }])
    })

    test('cuts an insert of more rows than one block holds', async () => {
      const rows = 1_000_003
      const table = await createTable('a UInt32, s LowCardinality(String), f FixedString(2)')
      await warehouse.insert(table, {
        a: Uint32Array.from({ length: rows }, (_, row) => row),
        s: Array.from({ length: rows }, (_, row) => (row % 2 === 0 ? 'even' : 'odd')),
        f: new Uint8Array(rows * 2).fill(65),
      })
      expect(
        await warehouse.query(
          `SELECT count() AS n, sum(a) AS total, uniqExact(a) AS distinct, countIf((a % 2 = 0) = (s = 'even')) AS named, any(f) AS f FROM ${table}`,
        ),
      ).toEqual([
        {
          n: String(rows),
          total: String((rows * (rows - 1)) / 2),
          distinct: String(rows),
          named: String(rows),
          f: 'AA',
        },
      ])
    })

    test('shows the newest of several versions of a row that come in one insert with FINAL', async () => {
      const table = await createTable(
        'id UInt32, value String, version UInt64',
        'ReplacingMergeTree(version) ORDER BY id',
      )
      const version = BigUint64Array.of(1n, 3n, 2n, 1n)
      await warehouse.insert(table, { id: Uint32Array.of(1, 1, 1, 2), value: ['a', 'c', 'b', 'd'], version })
      const read = () => warehouse.query(`SELECT id, value FROM ${table} FINAL ORDER BY id`)
      const newest = [
        { id: 1, value: 'c' },
        { id: 2, value: 'd' },
      ]
      expect(await read()).toEqual(newest)
      await warehouse.command(`OPTIMIZE TABLE ${table} FINAL`)
      expect(await warehouse.query(`SELECT id, value FROM ${table} ORDER BY id`)).toEqual(newest)
    })

    test('shows the newest version of a row with FINAL, and none after its deletion', async () => {
      const table = await createTable(
        'id UInt32, value String, version UInt64, is_deleted UInt8',
        'ReplacingMergeTree(version, is_deleted) ORDER BY id',
      )
      const put = (value: string, version: bigint, deleted = 0) =>
        warehouse.insert(table, {
          id: Uint32Array.of(1),
          value: [value],
          version: BigUint64Array.of(version),
          is_deleted: Uint8Array.of(deleted),
        })
      const read = () => warehouse.query(`SELECT value FROM ${table} FINAL`)
      await put('second', 2n)
      await put('first', 1n)
      expect(await read()).toEqual([{ value: 'second' }])
      await put('second', 2n)
      expect(await read()).toEqual([{ value: 'second' }])
      await put('', 3n, 1)
      expect(await read()).toEqual([])
      await put('again', 4n)
      expect(await read()).toEqual([{ value: 'again' }])
    })

    test.each([
      ['String', "'; DROP TABLE x; --"],
      ['String', 'back\\slash \\n \\\' "quotes" `ticks` {a:String} ?'],
      ['String', 'line\nfeed\r\ttab\0nul é 漢 🦄'],
      ['String', ''],
      ['Int64', -(2n ** 63n)],
      ['UInt256', UINT256_MAX],
      ['UInt32', 4_294_967_295],
      ['Float64', 0.1],
      ['Bool', true],
      ['UInt8', false],
      ['Array(String)', ["it's", 'a,b', '\\', '[', '\n', '']],
      ['Array(UInt64)', [0n, 2n ** 64n - 1n]],
      ['Array(UInt32)', []],
    ] as const)('binds a %s parameter: %s', async (type, value) => {
      const [row] = await warehouse.query<{ v: unknown }>(`SELECT {v:${type}} AS v`, { v: value })
      const wide = (item: unknown) => (typeof item === 'bigint' ? String(item) : item)
      const expected = Array.isArray(value) ? value.map(wide) : type === 'UInt8' ? 0 : wide(value)
      expect(row?.v).toEqual(expected)
    })

    test('a query may end with a semicolon', async () => {
      expect(await warehouse.query('SELECT toUInt8(1) AS a;\n')).toEqual([{ a: 1 }])
      expect([...(await warehouse.queryWords('SELECT toUInt32(1) AS a; '))]).toEqual([1])
    })

    const keysOf = (count: number) => Array.from({ length: count }, (_, at) => `0x${at.toString(16).padStart(96, '0')}`)

    test('binds a list of as many keys as are asked for at once', async () => {
      const keys = keysOf(KEYS_PER_STATEMENT)
      const rows = await warehouse.query(
        'SELECT length({keys:Array(String)}) AS n, {keys:Array(String)}[{n:UInt32}] AS last',
        { keys, n: keys.length },
      )
      expect(rows).toEqual([{ n: String(keys.length), last: keys.at(-1) }])
    })

    test('refuses a list that is longer than a server takes, whichever way it is sent', async () => {
      const params = { keys: keysOf(1_400) }
      const refusal = 'The parameter keys of a statement has 141401 bytes: a server takes 131072.'
      const sql = 'SELECT toUInt32(length({keys:Array(String)})) AS n'
      const table = await createTable('n UInt32')
      for (const ask of [
        () => warehouse.query(sql, params),
        () => warehouse.queryWords(sql, params),
        () => warehouse.command(`INSERT INTO ${table} ${sql}`, params),
      ])
        expect(await failure(ask())).toMatchObject({ code: 'warehouse', message: refusal, retryable: false })
    })

    test('binds parameters of commands', async () => {
      const table = await createTable('a String')
      await warehouse.command(`INSERT INTO ${table} SELECT {a:String}`, { a: "x'; --" })
      expect(await warehouse.query(`SELECT a FROM ${table}`)).toEqual([{ a: "x'; --" }])
    })

    test('returns the rows of an insert to the next query, always', async () => {
      const table = await createTable('a UInt32')
      for (let n = 1; n <= 30; n++) {
        await warehouse.insert(table, { a: Uint32Array.of(n) })
        expect(await warehouse.query(`SELECT count() AS n FROM ${table}`)).toEqual([{ n: String(n) }])
      }
    })

    test('gives each of many calls at once its own answer', async () => {
      const table = await createTable('a UInt32, b String')
      const calls = Array.from({ length: 60 }, async (_, n) => {
        await warehouse.insert(table, { a: Uint32Array.of(n), b: [`row ${n}`] })
        const bound = await warehouse.query(`SELECT b FROM ${table} WHERE a = {n:UInt32} AND b = {b:String}`, {
          n,
          b: `row ${n}`,
        })
        expect(bound).toEqual([{ b: `row ${n}` }])
        expect(await warehouse.query(`SELECT ${n} AS n`)).toEqual([{ n }])
      })
      await Promise.all(calls)
      expect(await warehouse.query(`SELECT count() AS n FROM ${table}`)).toEqual([{ n: '60' }])
    })

    test('tells the code and the first sentence of what ClickHouse refuses', async () => {
      const missing = await failure(warehouse.query('SELECT * FROM no_such_table'))
      expect(missing).toMatchObject({ code: 'warehouse', retryable: false })
      expect(missing.message).toMatch(/^ClickHouse refused \(60\): .*no_such_table/)
      expect((await failure(warehouse.query('SELEC 1'))).message).toMatch(/\(62\)/)
      expect((await failure(warehouse.query('SELECT {unbound:String}'))).message).toMatch(/\(456\)/)
      expect((await failure(warehouse.command('DROP TABLE no_such_table'))).message).toMatch(/\(60\)/)
    })

    test('fails as a whole when the query fails in the middle of its result', async () => {
      const sql = 'SELECT number, throwIf(number = 150000) AS t FROM numbers(190000) SETTINGS max_block_size = 1000'
      expect((await failure(warehouse.query(sql))).message).toMatch(/\(395\)/)
      expect(await warehouse.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
    })

    test('refuses a result of more rows than its limit', async () => {
      const sql = 'SELECT number FROM numbers({n:UInt64})'
      expect(await warehouse.query(sql, { n: CONTRACT_ROWS_MAX })).toHaveLength(CONTRACT_ROWS_MAX)
      const error = await failure(warehouse.query(sql, { n: CONTRACT_ROWS_MAX * 3 }))
      expect(error.message).toMatch(/\(396\)/)
    })

    test('ends a query that reads more rows, or takes longer, than it may', async () => {
      const table = await createTable('a UInt32')
      await warehouse.insert(table, { a: Uint32Array.from({ length: 1_000 }, (_, n) => n) })
      const read = (limits: QueryLimits) => warehouse.query(`SELECT sum(a) AS s FROM ${table}`, {}, limits)
      expect(await failure(read({ rowsReadMax: 999 }))).toMatchObject({ code: 'query_limit', retryable: false })
      expect(await read({ rowsReadMax: 1_000 })).toEqual([{ s: '499500' }])
      const endless = 'SELECT sum(cityHash64(number)) AS s FROM numbers(1000000000000)'
      expect(await failure(warehouse.query(endless, {}, { timeMsMax: 200 }))).toMatchObject({ code: 'query_limit' })
      // The limits of one query are not those of the next.
      expect(await read({})).toEqual([{ s: '499500' }])
    })

    test('stops waiting for a query with the reason of its signal', async () => {
      const gone = new AbortController()
      const running = warehouse.query('SELECT sleep(1)', {}, { signal: gone.signal })
      gone.abort(new Error('the asker is gone'))
      await expect(running).rejects.toBe(gone.signal.reason)
      await expect(warehouse.query('SELECT 1', {}, { signal: gone.signal })).rejects.toBe(gone.signal.reason)
      expect(await warehouse.query('SELECT 2 AS two')).toEqual([{ two: 2 }])
    })

    test('ends a running query in ClickHouse when nobody waits for it any more', async () => {
      const gone = new AbortController()
      const endless = 'SELECT sum(cityHash64(number)) AS abandoned FROM numbers(1000000000000)'
      const running = () =>
        warehouse.query(
          `SELECT elapsed FROM system.processes WHERE query LIKE '%AS abandoned%' AND query NOT LIKE '%system.processes%'`,
        )
      const abandoned = warehouse.query(endless, {}, { signal: gone.signal }).catch((reason: unknown) => reason)
      while ((await running()).length === 0);
      gone.abort('gone')
      expect(await abandoned).toBe('gone')
      while ((await running()).length > 0);
      expect(await warehouse.query('SELECT 3 AS three')).toEqual([{ three: 3 }])
    })

    test('takes columns in parts', async () => {
      const parts = new ColumnParts([BigUint64Array.of(1n, 2n), BigUint64Array.of(2n ** 64n - 1n)])
      expect(await roundTrip('UInt64', parts, 3)).toEqual(['1', '2', '18446744073709551615'])
      const bytes = new ColumnParts([Buffer.from('abcd'), Buffer.from('ef')])
      expect(await roundTrip('FixedString(2)', bytes, 3)).toEqual(['ab', 'cd', 'ef'])
    })

    test('names the table or the column of an insert that does not fit', async () => {
      const table = await createTable('a UInt8, d FixedString(2), e UInt256')
      const insert = (columns: InsertColumns) => failure(warehouse.insert(table, columns))
      expect((await insert({ nope: Uint8Array.of(1) })).message).toBe(`Table ${table} has no column nope.`)
      expect((await insert({ a: Uint32Array.of(256) })).message).toMatch(/^Column a, row 0: 256 is outside/)
      expect((await insert({ d: ['abc'] })).message).toMatch(/^Column d, row 0/)
      expect((await insert({ e: [-1n] })).message).toMatch(/^Column e, row 0/)
      expect((await insert({ a: Uint8Array.of(1, 2), d: ['a'] })).message).toMatch(/^Column d has 1 values/)
      expect((await failure(warehouse.insert('no_table', { a: Uint8Array.of(1) }))).message).toMatch(
        /no table no_table/,
      )
      expect(await warehouse.query(`SELECT count() AS n FROM ${table}`)).toEqual([{ n: '0' }])
    })

    test('inserts after an insert that ClickHouse has refused, and nothing of the refused one', async () => {
      const table = await createTable('a UInt32, CONSTRAINT small CHECK a < 10')
      expect((await failure(warehouse.insert(table, { a: Uint32Array.of(1, 10) }))).message).toMatch(/\(469\)/)
      await warehouse.insert(table, { a: Uint32Array.of(2) })
      expect(await warehouse.query(`SELECT a FROM ${table}`)).toEqual([{ a: 2 }])
    })

    test('makes one part of those of a partition, whose rows stay what they are', async () => {
      const table = await createTable('p UInt8, x UInt32', 'MergeTree PARTITION BY p ORDER BY x')
      for (let x = 0; x < 6; x++) await warehouse.insert(table, { p: Uint8Array.of(x % 2), x: Uint32Array.of(x) })
      const parts = () =>
        warehouse.query<{ id: string; count: string }>(
          `SELECT partition_id AS id, count() AS count FROM system.parts
           WHERE active AND database = currentDatabase() AND table = {table:String} GROUP BY id ORDER BY id`,
          { table },
        )
      await warehouse.merge(table, '1', new AbortController().signal)
      expect(await parts()).toEqual([
        { id: '0', count: '3' },
        { id: '1', count: '1' },
      ])
      await warehouse.merge(table, '0', AbortSignal.abort())
      expect((await parts())[0]).toEqual({ id: '0', count: '3' })
      const rows = await warehouse.query<{ x: number }>(`SELECT x FROM ${table} ORDER BY x`)
      expect(rows.map(({ x }) => x)).toEqual([0, 1, 2, 3, 4, 5])
      await warehouse.merge(table, undefined, new AbortController().signal)
      expect((await parts())[0]).not.toEqual({ id: '0', count: '3' })
      expect(await warehouse.query<{ x: number }>(`SELECT x FROM ${table} ORDER BY x`)).toEqual(rows)
      for (const id of ["1' FINAL", '']) {
        const error = await failure(warehouse.merge(table, id, new AbortController().signal))
        expect(error.message).toBe('A partition has no such id.')
      }
    })

    test('runs one statement per call', async () => {
      const error = await failure(warehouse.query('SELECT 1; SELECT 2'))
      expect(error).toMatchObject({ code: 'warehouse', retryable: false })
      expect(error.message).toMatch(/\(62\)/)
      expect(await warehouse.query("SELECT ';' AS quoted -- one; still one")).toEqual([{ quoted: ';' }])
    })

    test('runs each migration once, and again when it was interrupted', async () => {
      const first = {
        name: '0001_a',
        text: '-- tables;\nCREATE TABLE IF NOT EXISTS m_a (a UInt8)\nENGINE = MergeTree ORDER BY a;\n',
      }
      const broken = {
        name: '0002_b',
        text: 'CREATE TABLE IF NOT EXISTS m_b (a UInt8) ENGINE = MergeTree ORDER BY a;\nCREATE TABLE m_b AS no_such;\n',
      }
      const fixed = { name: '0002_b', text: `${broken.text.split('\n')[0]}\n` }
      expect((await failure(migrate(warehouse, [first, broken]))).message).toMatch(/^ClickHouse refused/)
      expect(await migrate(warehouse, [first, fixed])).toEqual({ applied: ['0002_b'], skipped: ['0001_a'] })
      expect(await migrate(warehouse, [first, fixed])).toEqual({ applied: [], skipped: ['0001_a', '0002_b'] })
      const changed = await failure(migrate(warehouse, [{ ...first, text: `${first.text}-- changed` }, fixed]))
      expect(changed).toMatchObject({ code: 'usage' })
      expect(changed.message).toMatch(/^Migration 0001_a was applied to this warehouse with another text/)
    })

    test('keeps what the faster of two processes has filled, when both find a migration that drops tables', async () => {
      const remake = {
        name: '0003_c',
        text: 'DROP TABLE IF EXISTS m_c;\nCREATE TABLE IF NOT EXISTS m_c (a UInt8) ENGINE = MergeTree ORDER BY a;\n',
      }
      const turn = Promise.withResolvers<void>()
      const found = Promise.withResolvers<void>()
      const slower = migrate(warehouse, [remake], {
        alone: async (work) => {
          found.resolve()
          await turn.promise
          return work(new AbortController().signal)
        },
      })
      await found.promise
      expect(await migrate(warehouse, [remake])).toEqual({ applied: ['0003_c'], skipped: [] })
      await warehouse.insert('m_c', { a: Uint8Array.of(7) })
      turn.resolve()
      expect(await slower).toEqual({ applied: [], skipped: ['0003_c'] })
      expect(await warehouse.query('SELECT a FROM m_c')).toEqual([{ a: 7 }])
    })

    test('applies no statement more once the right to migrate is lost', async () => {
      const lost = new AbortController()
      lost.abort(new AppError('lease_lost', 'another process migrates'))
      const made = { name: '0004_d', text: 'CREATE TABLE IF NOT EXISTS m_d (a UInt8) ENGINE = MergeTree ORDER BY a;\n' }
      expect(await failure(migrate(warehouse, [made], { alone: (work) => work(lost.signal) }))).toMatchObject({
        code: 'lease_lost',
      })
      expect(await warehouse.query("SELECT name FROM system.tables WHERE name = 'm_d'")).toEqual([])
    })
  })
}
