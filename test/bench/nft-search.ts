import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KeptTold } from '../../api/nft/kept-told.ts'
import { searchContracts } from '../../api/nft/search.ts'
import type { ToldContract } from '../../api/nft/told-contracts.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { namesSql } from './names-sql.ts'
import { Report } from './report.ts'

const CONTRACTS = 300_000
/** One of so many was read again since, in one of so many inserts: parts of the table that are not merged yet. */
const READ_AGAIN = 15
const INSERTS = 10
const P99_MS_MAX = 50
/** At so many clients a question may take four times as long. */
const CLIENTS = 16
const QUESTIONS = 300

const WORDS = (
  'Bored Ape Yacht Club Crypto Punks Lazy Lions Cool Cats World Women Doodles Azuki Moon Birds Mutant Pudgy Penguins Art Blocks ' +
  'Genesis Pass Meta Verse Land Sand Box Gods Warriors Dragon Legends Pixel Robot Alien Frens Degen Toadz Invisible Friends Squad ' +
  'Society Official Collection Edition Open Mint Free Dao Token Ticket Season Origin Founders Card Game Hero Beast Shadow Night'
).split(' ')

/** What is asked: wholes, beginnings, parts, typing errors, what there is not, and addresses. */
const QUERIES = [
  ...['bored ape', 'ape', 'yacht club', 'unks', 'azuki moon', 'Genesis Pass #12', 'ab12', 'e', 'shadow night'],
  ...['bord ape', 'cryto punks', 'azuky moon', 'pengiuns', 'nothing like it', 'xq', 'warriros dragon'],
  ...['0x00', '0x12ab34cd', `0x${'12'.repeat(20)}`, 'abcdef12'],
]

/** `npm run bench nft-search`: contracts by name, symbol and address, in the warehouse of this process. */
export async function benchNftSearch(): Promise<boolean> {
  const report = new Report()
  const directory = await mkdtemp(join(tmpdir(), 'epochline-bench-search-'))
  try {
    await using warehouse = await openWarehouse({ directory })
    await migrate(warehouse, await readMigrations())
    await fill((sql) => warehouse.command(sql))
    // As in the program: what contracts have told is kept for the next question.
    const tables = { warehouse, chain: 'bench', standing: { toldContracts: new KeptTold<ToldContract>('') } }
    const ask = async (place: number): Promise<number> => {
      const begin = performance.now()
      await searchContracts(tables, (QUERIES[place % QUERIES.length] as string).toLowerCase())
      return performance.now() - begin
    }
    for (let place = 0; place < QUERIES.length; place++) await ask(place)
    report.heading(`searchContractMetadata, ${CONTRACTS.toLocaleString('en')} contracts, ${QUERIES.length} texts`)
    const alone: number[] = []
    for (let place = 0; place < QUESTIONS; place++) alone.push(await ask(place))
    tell(report, '1 client', alone, P99_MS_MAX)
    const together = await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        const took: number[] = []
        for (let place = 0; place < QUERIES.length; place++) took.push(await ask(client + place))
        return took
      }),
    )
    tell(report, `${CLIENTS} clients`, together.flat(), 4 * P99_MS_MAX)
    return report.within
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

function tell(report: Report, who: string, tookMs: readonly number[], max: number): void {
  const sorted = tookMs.toSorted((a, b) => a - b)
  report.info(`${who}, median`, sorted[Math.floor(sorted.length / 2)] as number, 1, 'ms')
  report.limited(`${who}, p99`, sorted[Math.floor(sorted.length * 0.99)] as number, { digits: 1, unit: 'ms', max })
}

async function fill(command: (sql: string) => Promise<void>): Promise<void> {
  const words = `[${WORDS.map((word) => `'${word}'`).join(', ')}]`
  const word = (salt: number) => `${words}[cityHash64(number, ${salt}) % ${WORDS.length} + 1]`
  const read = async (version: string, which: string) => {
    await command(
      `INSERT INTO nft_contracts (chain, contract, name, has_name, symbol, has_symbol, token_type, deploy_block, version)
       SELECT 'bench', substring(unhex(concat(hex(sipHash128(number)), hex(sipHash128(number, 1)))), 1, 20),
         concat(${word(1)}, ' ', ${word(2)}, if(number % 3 = 0, concat(' ', ${word(3)}), ''),
           if(number % 2 = 0, concat(' #', toString(number % 1000)), '')), 1,
         upper(substring(hex(cityHash64(number, 9)), 1, 2 + number % 4)), 1, 'ERC721', -1, ${version}
       FROM numbers(${CONTRACTS}) WHERE ${which}`,
    )
    for (const sql of namesSql(`version = ${version}`)) await command(sql)
  }
  await read('1', '1')
  for (let insert = 0; insert < INSERTS; insert++)
    await read(
      String(CONTRACTS + insert),
      `number % ${READ_AGAIN} = 0 AND intDiv(number, ${READ_AGAIN}) % ${INSERTS} = ${insert}`,
    )
}
