import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import autocannon from 'autocannon'
import type { ApiChain } from '../../api/http/chain-path.ts'
import { openApi } from '../../api/http/server.ts'
import { meantFilter } from '../../api/nft/meant-filter.ts'
import { formatPageKey } from '../../api/nft/page-key.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { mergeFolded, mergeSmall } from '../../processors/nft/merges.ts'
import { chainNames } from '../../schemas/chains.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { noJobs } from '../unit/no-jobs.ts'
import { silentLog } from '../unit/silent-log.ts'
import { namesSql } from './names-sql.ts'
import type { Asked, Told } from './nft-asker.ts'
import type { Report } from './report.ts'
import { addressOf, LARGE_CONTRACT, type TokenChainSize, WHALE } from './synthetic-tokens.ts'

const TOKEN = 'token-of-the-bench'
const CHAIN: ApiChain = { names: chainNames('ethereum', 'mainnet'), hasBeacon: true }
const CLIENTS = [1, 16] as const
/** At sixteen clients questions wait for each other. */
const AT_MANY = 4
const QUESTIONS = 320
/**
 * Asked beforehand, each for the first time as well: V8 compiles what an answer runs while the first hundreds are given, and clients that begin
 * at one time wait for each other longer than any later.
 */
const WARM_UP = 320
/** Between looks whether the engine still merges what was written. */
const MERGING_MS = 500
/** Without a merge: the engine looks for the next ones at intervals that grow. */
const MERGED_MS = 15_000
const REPEATED_SECONDS = 3
const REPEATED_PER_SECOND_MIN = 5_000
const UNCHANGED_PER_SECOND_MIN = 8_000
/** A page of so many owners is an answer of 10 kB. */
const OWNERS_OF_10_KB = 60

/** Of contracts. */
const NAMES = 1_000
const WRITTEN = ['token', 'Token', 'TOKEN', 'tOken', 'toKen', 'tokEn', 'tokeN', 'TOken', 'TOKen', 'TOKEn']

interface Question {
  readonly name: string
  readonly p99MsMax: number
  readonly path: (form: number) => string
}

/** Measures answers that were never given before, and repeated ones, over what was folded. */
export async function benchNftApi(warehouse: Warehouse, size: TokenChainSize, report: Report): Promise<void> {
  await warehouse.command(
    'INSERT INTO access_tokens (token_hash, account, version) SELECT {hash:String}, {account:String}, 1',
    {
      hash: hashToken(TOKEN),
      account: 'bench',
    },
  )
  const unasked = () => Promise.reject(new Error('not asked'))
  await using api = await openApi({
    warehouse,
    jobs: noJobs,
    unfundedRules: DEFAULT_UNFUNDED_RULES,
    chains: () => [CHAIN],
    log: silentLog,
    now: Date.now,
    wallNow: Date.now,
    health: unasked,
    accountsKnown: async () => true,
    tablesWhole: async () => true,
    host: '127.0.0.1',
    port: 0,
  })
  await fillMetadata(warehouse)
  await mergesEnd(warehouse, report)
  const base = `${api.url}/nft/${CHAIN.names.nftName}/${TOKEN}`
  for (const question of await questionsOf(warehouse, size)) {
    for (const clients of CLIENTS) {
      const max = question.p99MsMax * (clients === 1 ? 1 : AT_MANY)
      const { median, p99, cpuMs } = await timesOf(clients, (form) => `${base}/${question.path(form)}`)
      const who = `${question.name}, ${clients} ${clients === 1 ? 'client' : 'clients'}`
      report.limited(`${who}, p99`, p99, { digits: 1, unit: 'ms', max })
      report.info('  half of them within', median, 1, 'ms')
      report.info('  of a core, without the client', cpuMs, 1, 'ms')
    }
  }
  const url = `${base}/getOwnersForContract?contract_address=${addressHex('contract', LARGE_CONTRACT)}&page_size=${OWNERS_OF_10_KB}`
  const first = await fetch(url)
  report.info('a repeated answer', (await first.text()).length / 1_000, 1, 'kB')
  const etag = first.headers.get('etag') as string
  const perSecond = async (headers: Record<string, string>) =>
    (await autocannon({ url, headers, connections: 16, duration: REPEATED_SECONDS, workers: 1 })).requests.average
  report.atLeast('repeated answers a second', await perSecond({}), {
    digits: 0,
    unit: '',
    min: REPEATED_PER_SECOND_MIN,
  })
  report.atLeast('the same where the client has it (304)', await perSecond({ 'if-none-match': etag }), {
    digits: 0,
    unit: '',
    min: UNCHANGED_PER_SECOND_MIN,
  })
}

/** What contracts and tokens say of themselves, as if all of them had been read. */
async function fillMetadata(warehouse: Warehouse): Promise<void> {
  const chain = CHAIN.names.name
  await warehouse.command(
    `INSERT INTO nft_contracts (chain, contract, name, has_name, symbol, has_symbol, token_type, deploy_block, version)
     SELECT DISTINCT '${chain}', key, concat('token ', toString(cityHash64(key) % ${NAMES})), 1, 'TOK', 1, 'ERC721', 1, 1
     FROM nft_totals WHERE kind = 'contract'`,
  )
  for (const sql of namesSql('1')) await warehouse.command(sql)
  const told = (kind: string, json: string) =>
    warehouse.command(
      `INSERT INTO nft_token_told (chain, token, kind, told, version)
       SELECT '${chain}', concat(contract, token_id), '${kind}', ${json}, 1
       FROM (SELECT DISTINCT contract, token_id FROM nft_token_holders)`,
    )
  const uri = "concat('ipfs://', hex(token_id))"
  const attributes = '[{"trait_type":"of","value":"many"}]'
  const document = `concat('{"name":"one of many","image":"', ${uri}, '","attributes":${attributes}}')`
  await told('state', `concat('{"token_uri":"', ${uri}, '","error":null,"attempts":0,"read_sec":1,"retry_sec":0}')`)
  await told(
    'document',
    `concat('{"json":', toJSONString(${document}), ',"title":"one of many","description":null,"media":"', ${uri},
      '","media_type":null,"media_external":null,"attributes":', toJSONString('${attributes}'), ',"read_sec":1}')`,
  )
}

/** What is done once months are folded, by the role and by the engine, is not what answers take. */
async function mergesEnd(warehouse: Warehouse, report: Report): Promise<void> {
  const begin = performance.now()
  const never = new AbortController().signal
  await mergeFolded(warehouse, never)
  await mergeSmall(warehouse, never)
  let ended = performance.now()
  while (performance.now() - ended < MERGED_MS) {
    await wait(MERGING_MS)
    const [merges] = await warehouse.query<{ count: string }>('SELECT count() AS count FROM system.merges')
    if (merges?.count !== '0') ended = performance.now()
  }
  report.info('until merges had ended', (ended - begin) / 1_000, 1, 's')
}

const addressHex = (kind: 'contract' | 'holder', number: number): string => hexOf(addressOf(kind, number))

async function questionsOf(warehouse: Warehouse, size: TokenChainSize): Promise<readonly Question[]> {
  const [head] = await warehouse.query<{ start: string; number: string; hash: string }>(
    `SELECT start, block_number AS number, concat('0x', lower(hex(block_hash))) AS hash FROM nft_blocks
     WHERE block_hash NOT IN (${REVERTED_SQL}) ORDER BY block_number DESC LIMIT 1`,
    { chain: CHAIN.names.name },
  )
  const { start, number } = { start: Number(head?.start), number: Number(head?.number) }
  const hash = head?.hash as string
  const [large, whale] = [addressHex('contract', LARGE_CONTRACT), addressHex('holder', WHALE)]
  // Wherever the keys begin that a page goes on behind: first, middle and last pages.
  const pageKey = (operation: string, filter: Readonly<Record<string, string>>, after: readonly string[]) =>
    formatPageKey(
      { secret: '', chain: CHAIN.names.name, operation, filter: meantFilter(filter) },
      { start, number, hash, after },
    )
  const spread = (form: number, width: number) =>
    `0x${(BigInt(form * 2_654_435_761) % 2n ** 32n)
      .toString(16)
      .padStart(8, '0')
      .padEnd(width * 2, '0')}`
  const past = (form: number) => Math.max(1, number - 1 - ((form * 7_919) % Math.max(1, Math.floor(number / 2))))
  return [
    {
      name: 'getNFTsForOwner, wallet of many',
      p99MsMax: 30,
      path: (form) =>
        form % 2 === 0
          ? `getNFTsForOwner?owner=${whale}&page_key=${pageKey('getNFTsForOwner', { owner: whale }, [spread(form, 20), `0x${'00'.repeat(32)}`, 'ERC721'])}`
          : `getNFTsForOwner?owner=${whale}&block=${past(form)}`,
    },
    {
      name: 'getNFTsForOwner, any wallet',
      p99MsMax: 30,
      path: (form) => `getNFTsForOwner?owner=${addressHex('holder', (form * 7_919) % size.holders)}`,
    },
    {
      name: 'getOwnersForContract, contract of many',
      p99MsMax: 30,
      path: (form) =>
        form % 2 === 0
          ? `getOwnersForContract?contract_address=${large}&page_key=${pageKey('getOwnersForContract', { contract_address: large }, [spread(form, 20)])}&page_size=100`
          : `getOwnersForContract?contract_address=${large}&block=${past(form)}&page_size=100`,
    },
    {
      name: 'isHolderOfContract',
      p99MsMax: 10,
      path: (form) =>
        `isHolderOfContract?contract_address=${large}&wallet=${addressHex('holder', (form * 104_729) % size.holders)}${form % 2 === 0 ? '' : `&block=${past(form)}`}`,
    },
    {
      name: 'searchContractMetadata',
      p99MsMax: 50,
      // There are a thousand names, and each is written in so many ways.
      path: (form) =>
        `searchContractMetadata?query=${WRITTEN[Math.floor(form / NAMES) % WRITTEN.length]}%20${form % NAMES}`,
    },
    {
      name: 'getAssetsTransfer, 100 of a wallet',
      p99MsMax: 30,
      path: (form) =>
        `getAssetsTransfer?to_address=${addressHex('holder', (form * 7_919) % size.holders)}&max_count=100`,
    },
  ]
}

let forms = 0

interface Times {
  readonly median: number
  /** Of the slowest question but one in a hundred. */
  readonly p99: number
  /** Of all threads of this process, for each question. */
  readonly cpuMs: number
}

async function timesOf(clients: number, url: (form: number) => string): Promise<Times> {
  const asker = fork(join(import.meta.dirname, 'nft-asker.ts'))
  try {
    const ask = async (questions: number): Promise<readonly number[]> => {
      const asked: Asked = { urls: Array.from({ length: questions }, () => url(forms++)), clients }
      asker.send(asked)
      const [told] = (await once(asker, 'message')) as [Told]
      if ('failure' in told) throw new Error(told.failure)
      return told.tookMs
    }
    await ask(WARM_UP)
    const before = process.cpuUsage()
    const times = (await ask(QUESTIONS)).toSorted((a, b) => a - b)
    const { user, system } = process.cpuUsage(before)
    const at = (share: number) => times[Math.ceil(times.length * share) - 1] as number
    return { median: at(0.5), p99: at(0.99), cpuMs: (user + system) / 1_000 / QUESTIONS }
  } finally {
    asker.kill()
  }
}
