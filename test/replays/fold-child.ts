import { writeFileSync } from 'node:fs'
import { openApi } from '../../api/http/server.ts'
import { seededRandom } from '../../infra/devnet/consensus/random.ts'
import type { InsertColumns, Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { MAINNET } from '../contract/api-fixture.ts'
import { openGivenApi, TOKEN } from '../contract/given-api.ts'
import {
  ART,
  type Block,
  blockOn,
  COINS,
  chainOf,
  eventsOf,
  type Move,
  NOBODY,
  revertOf,
  tell,
} from '../unit/given-nft-chain.ts'
import { dumpTables } from '../unit/projecting.ts'

// A process that folds a chain in a folder, is killed after so many inserts of its second fold, or writes what the tables and answers say
// into a file: `fold-child.ts <folder> <file> [inserts]`.

const [, , directory = '', file = '', inserts] = process.argv
const CHAIN = MAINNET.names.name
const PEOPLE = ['a1', 'b2', 'c3', 'd4', 'e5'].map((byte) => `0x${byte.repeat(20)}` as const)
const BLOCKS = 40
const random = seededRandom('killed folds', '1')
const below = (limit: number) => Math.floor(random() * limit)
const somebody = () => [NOBODY, ...PEOPLE][below(PEOPLE.length + 1)] ?? NOBODY
const move = (): Move => ({
  contract: random() < 0.5 ? ART : COINS,
  ...{ from: somebody(), to: somebody(), id: BigInt(below(9)), amount: BigInt(below(4)) },
})
const moves = () => Array.from({ length: below(8) }, move)

await using given = await openGivenApi(directory)
const { warehouse } = given
const fold = (into: Warehouse) => foldChain(into, CHAIN, new AbortController().signal)

let head: Block | undefined
for (let i = 0; i < BLOCKS / 2; i++) head = blockOn(head, moves())
await tell(
  warehouse,
  chainOf(head).flatMap((block) => eventsOf(block, CHAIN)),
  { chain: CHAIN },
)
await fold(warehouse)

// The newest two are reverted.
const reverted = [head, head?.parent] as [Block, Block]
const later = reverted.map((block) => revertOf(block, CHAIN))
head = reverted[1].parent
for (let i = 0; i < BLOCKS / 2; i++) {
  head = blockOn(head, moves())
  later.push(...eventsOf(head, CHAIN))
}
await tell(warehouse, later, { chain: CHAIN })
await fold(inserts === undefined ? warehouse : dyingAfter(Number(inserts)))

/** The warehouse, until so many inserts into tables of the fold have ended. */
function dyingAfter(count: number): Warehouse {
  let ended = 0
  const insert = async (table: string, columns: InsertColumns): Promise<void> => {
    await warehouse.insert(table, columns)
    if ((FOLDED_TABLES as readonly string[]).includes(table) && ++ended === count) process.kill(process.pid, 'SIGKILL')
  }
  return new Proxy(warehouse, {
    get: (target, name) => {
      const own = Reflect.get(target, name)
      return name === 'insert' ? insert : typeof own === 'function' ? own.bind(target) : own
    },
  })
}

const questions = [
  ...PEOPLE.flatMap((owner) => [
    `getNFTsForOwner?owner=${owner}&with_metadata=false`,
    `getContractsForOwner?owner=${owner}`,
    `getAssetsTransfer?from_address=${owner}`,
    `getAssetsTransfer?to_address=${owner}&max_count=5&order=desc`,
  ]),
  ...[ART, COINS].flatMap((contract) => [
    `getOwnersForContract?contract_address=${contract}`,
    `getOwnersForNFT?contract_address=${contract}&token_id=1`,
    `getAssetsTransfer?contract_addresses=${contract}&max_count=20&category=ERC721`,
  ]),
  'getAssetsTransfer?max_count=10',
  'changes?limit=1000',
]
{
  await using api = await openApi({ ...given.partsOf([MAINNET]), host: '127.0.0.1', port: 0 })
  const answers: (readonly [string, string])[] = []
  for (const question of questions)
    for (const block of question.startsWith('changes') ? [''] : ['', '&block=10', '&block=25']) {
      const response = await fetch(`${api.url}/nft/${MAINNET.names.nftName}/${TOKEN}/${question}${block}`)
      answers.push([`${question}${block} ${response.status}`, await response.text()])
    }
  const tables = await dumpTables(warehouse, { versions: false })
  const folded = FOLDED_TABLES.map((table) => [table, tables[table]] as const)
  writeFileSync(file, JSON.stringify({ tables: Object.fromEntries(folded), answers: Object.fromEntries(answers) }))
}
