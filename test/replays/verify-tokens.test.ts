import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { proveTokens } from '../../processors/verify/prove-tokens.ts'
import { verifyTables } from '../../processors/verify/verify.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import {
  ART,
  type Block,
  blockOn,
  COINS,
  chainOf,
  eventsOf,
  type GivenLog,
  type Move,
  NOBODY,
  revertOf,
  tell,
} from '../unit/given-nft-chain.ts'
import { ABI, ERC20, logOf } from '../unit/given-nft-log.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

const CHAIN = 'eth'
const TEST_MS = 120_000
const PUNKS: Address = '0xb47e3cd837ddf8e4c57f05d70ab865de6e193bbb'
const [ANA, BOB, EVE] = ['a1', 'b2', 'e3'].map((byte) => `0x${byte.repeat(20)}` as const) as [Address, Address, Address]
const MAX = 2n ** 256n - 1n
const never = new AbortController().signal
const stores = storesOfFile()
const tellAll = (events: readonly EncodedEvent[]) => tell(stores().warehouse, events, { chain: CHAIN })
const eventsOfBlock = (block: Block) => eventsOf(block, CHAIN)
const fold = () => foldChain(stores().warehouse, CHAIN, never)

const art = (from: Address, to: Address, id: bigint): Move => ({ contract: ART, from, to, id, amount: 1n })
const coins = (from: Address, to: Address, id: bigint, amount: bigint): Move => ({
  ...{ contract: COINS, from, to, id, amount },
  sender: from,
})
const logOn = (contract: Address, transaction: number, log: GivenLog['log']): GivenLog => ({
  ...{ contract, transaction, log },
})

/** Mints, a range, a batch, a Punk whose bid was accepted, contracts that lie; two blocks of five were reverted, one of them after it had come back. */
async function fillTokens(): Promise<EventLog> {
  const one = blockOn(undefined, [art(NOBODY, ANA, 1n), art(NOBODY, ANA, 2n), coins(NOBODY, ANA, 5n, 10n)])
  const batch = { operator: ANA, from: ANA, to: BOB, ids: [5n, 6n, 5n], values: [1n, 0n, 2n] }
  const range = { fromTokenId: 7n, toTokenId: 9n, from: NOBODY, to: ANA }
  const punk = { punkIndex: 3n, value: 0n, fromAddress: ANA, toAddress: NOBODY }
  const two: Block = {
    ...blockOn(one, []),
    logs: [
      logOn(COINS, 0, logOf(ABI, 'TransferBatch', batch)),
      logOn(ART, 1, logOf(ABI, 'Transfer', { from: NOBODY, to: ANA, tokenId: 8n })),
      logOn(ART, 1, logOf(ABI, 'ConsecutiveTransfer', range)),
      logOn(PUNKS, 2, logOf(ERC20, 'Transfer', { from: ANA, to: BOB, value: 1n })),
      logOn(PUNKS, 2, logOf(ABI, 'PunkBought', punk)),
    ],
  }
  const gone = blockOn(two, [art(ANA, EVE, 1n), coins(ANA, EVE, 5n, 3n)])
  const three = blockOn(two, [art(ANA, BOB, 1n), art(BOB, EVE, 1n), coins(BOB, EVE, 5n, 9n), coins(ANA, ANA, 5n, 4n)])
  const four = blockOn(three, [coins(EVE, BOB, 5n, MAX), coins(EVE, BOB, 5n, MAX), art(ANA, NOBODY, 2n)])
  const five = blockOn(four, [art(BOB, ANA, 1n), art(NOBODY, BOB, 2n), coins(BOB, EVE, 5n, 2n ** 130n)])
  await tellAll([one, two, gone].flatMap(eventsOfBlock))
  await fold()
  await tellAll([revertOf(gone, CHAIN), ...[three, four, five].flatMap(eventsOfBlock)])
  await fold()
  await tellAll([revertOf(five, CHAIN)])
  await fold()
  await tellAll(eventsOfBlock(five))
  await fold()
  return await stores().openLog()
}

/** What a verification finds of tokens, of tables in which something was done to rows. */
async function verify(planted?: string) {
  await using eventLog = await stores().filled('tokens', fillTokens)
  if (planted !== undefined) await stores().warehouse.command(planted)
  const lines: string[] = []
  const { wrong } = await verifyTables({
    ...{ eventLog, warehouse: stores().warehouse, jobQueue: { pending: async () => 0 }, signal: never, notes: [] },
    ...{ quiet: true, mayBeProcessed: false, print: async (line: string) => void lines.push(line) },
  })
  return { wrong, lines: lines.filter((line) => line.includes('WRONG')) }
}

const remedy = /^eth: \d+ rows about tokens are WRONG\. Run `epochline rebuild --chain eth --family nft`/

/** Rows of a table once more, with other values of some columns. */
const doubled = (table: string, where: string, values: Readonly<Record<string, string>>): string => {
  const replaced = Object.entries(values).map(([name, value]) => `${value} AS ${name}`)
  return `INSERT INTO ${table} SELECT * REPLACE (${replaced.join(', ')}) FROM (SELECT * FROM ${table} FINAL WHERE ${where})`
}
const lost = (table: string, where: string): string =>
  `ALTER TABLE ${table} DELETE WHERE ${where} SETTINGS mutations_sync = 1`
const altered = (table: string, where: string, to: string): string =>
  `ALTER TABLE ${table} UPDATE ${to} WHERE ${where} SETTINGS mutations_sync = 1`
const at = (address: Address): string => `unhex('${address.slice(2)}')`
const canonical = 'block_hash NOT IN (SELECT block_hash FROM reverted_blocks FINAL WHERE is_reverted = 1)'

const PLANTED: readonly (readonly [name: string, statement: string, line: RegExp])[] = [
  [
    'a transfer that was lost',
    lost('nft_transfers', `block_number = 3 AND log_index = 1 AND ${canonical}`),
    new RegExp(
      `^eth block 3: WRONG: nft_transfer_lists \\(all\\) has what nft_transfers does not make: .*contract ${ART}, token_id 1,.*to_address ${EVE}`,
    ),
  ],
  [
    'a transfer that is in no list',
    lost('nft_transfer_lists', 'block_number = 2 AND log_index = 4'),
    new RegExp(
      `^eth block 2: WRONG: nft_transfer_lists \\(all\\) lacks what nft_transfers makes: .*contract ${PUNKS}, token_id 3,.*to_address ${BOB}`,
    ),
  ],
  [
    'another receiver in the list of all',
    altered('nft_transfer_lists', "block_number = 2 AND log_index = 4 AND kind = 'all'", `to_address = ${at(EVE)}`),
    new RegExp(
      `^eth block 2: WRONG: nft_transfer_lists \\(all\\) has what nft_transfers does not make: .*to_address ${EVE}`,
    ),
  ],
  [
    'a transfer that a list of a contract lacks',
    lost('nft_transfer_lists', "block_number = 1 AND kind = 'contract' AND log_index = 2"),
    new RegExp(
      `^eth block 1: WRONG: nft_transfer_lists lacks what nft_transfer_lists \\(all\\) makes: .*contract ${COINS}, token_id 5,.*kind contract, key ${COINS}`,
    ),
  ],
  [
    'a transfer that is in a list of an account twice',
    doubled('nft_transfer_lists', "block_number = 1 AND kind = 'to' AND log_index = 1", { log_index: 'toUInt32(77)' }),
    new RegExp(
      `^eth block 1: WRONG: nft_transfer_lists has what nft_transfer_lists \\(all\\) does not make: .*log_index 77,.*token_id 2,.*kind to, key ${ANA}`,
    ),
  ],
  [
    'an owner who was lost',
    lost('nft_token_holders', "standard = 'ERC721' AND block_number = 5 AND amount = 1"),
    new RegExp(
      `^eth block 5: WRONG: nft_token_holders lacks what nft_transfer_lists \\(contract\\) makes: .*contract ${ART}, token_id 1, standard ERC721, holder ${ANA}, amount 1`,
    ),
  ],
  [
    'another amount',
    altered(
      'nft_token_holders',
      `standard = 'ERC1155' AND block_number = 3 AND holder = ${at(EVE)} AND ${canonical}`,
      'amount = 8',
    ),
    new RegExp(
      `^eth block 3: WRONG: nft_token_holders has what nft_transfer_lists \\(contract\\) does not make: .*contract ${COINS}, token_id 5, standard ERC1155, holder ${EVE}, .*more_low 8`,
    ),
  ],
  [
    'bits above an amount that were lost',
    altered('nft_token_holders', `standard = 'ERC1155' AND block_number = 4 AND holder = ${at(BOB)}`, 'excess = 0'),
    new RegExp(
      `^eth block 4: WRONG: nft_token_holders lacks what nft_transfer_lists \\(contract\\) makes: .*holder ${BOB}`,
    ),
  ],
  [
    'another block since when an amount is held',
    altered(
      'nft_token_holders',
      `standard = 'ERC1155' AND block_number = 2 AND holder = ${at(ANA)}`,
      'since_block = 2',
    ),
    new RegExp(`^eth block 2: WRONG: nft_token_holders has what .*holder ${ANA}.* is_since_right 0$`),
  ],
  [
    'another number of holders',
    altered('nft_token_holders', `holder = ${at(NOBODY)} AND block_number = 2`, 'amount = 3'),
    new RegExp(
      `^eth block 2: WRONG: nft_token_holders \\(how many\\) has what .*contract ${COINS}, token_id 5,.*more 2$`,
    ),
  ],
  [
    'a holding that the other order lacks',
    lost('nft_holder_tokens', `holder = ${at(EVE)} AND standard = 'ERC1155' AND block_number = 5`),
    new RegExp(`^eth block 5: WRONG: nft_holder_tokens lacks what nft_token_holders makes: .*holder ${EVE}`),
  ],
  [
    'a change that was doubled',
    doubled('nft_changes', "block_number = 1 AND standard = 'ERC721'", {
      holder: at(EVE).replace(/.*/, `toFixedString($&, 20)`),
    }),
    new RegExp(
      `^eth block 1: WRONG: nft_changes has what nft_token_holders does not make: .*contract ${ART}, token_id 1, standard ERC721, holder ${EVE}`,
    ),
  ],
  [
    'another amount of what an account has of a contract',
    altered(
      'nft_totals',
      `kind = 'contract_account' AND key = ${at(COINS)} AND other = ${at(ANA)} AND block_number = 2`,
      'amount = 6',
    ),
    new RegExp(
      `^eth block 2: WRONG: nft_totals \\(contract_account\\) has what nft_token_holders does not make: .*contract ${COINS}, account ${ANA}`,
    ),
  ],
  [
    'the same by accounts that was lost',
    lost('nft_totals', `kind = 'account_contract' AND key = ${at(BOB)} AND other = ${at(PUNKS)}`),
    new RegExp(
      `^eth block 2: WRONG: nft_totals \\(account_contract\\) lacks what nft_totals \\(contract_account\\) makes: .*contract ${PUNKS}, account ${BOB}`,
    ),
  ],
  [
    'another number of a contract’s holders',
    altered('nft_totals', `kind = 'contract' AND key = ${at(ART)} AND block_number = 4`, 'others = 9'),
    new RegExp(`^eth block 4: WRONG: nft_totals \\(contract\\) has what .*key ${ART}, .*more_others`),
  ],
  [
    'another number of transfers to an account',
    altered('nft_totals', `kind = 'account' AND key = ${at(BOB)} AND block_number = 4`, 'received = received + 1'),
    new RegExp(`^eth block 4: WRONG: nft_totals \\(account\\) has what .*key ${BOB}, .*more_received 3`),
  ],
  [
    'a block that was lost',
    lost('nft_blocks', 'block_number = 4'),
    /^eth block 5: WRONG: nft_blocks has what the block before does not make: parent_hash 0x/,
  ],
  [
    'another number of the chain’s transfers',
    altered('nft_blocks', `block_number = 3 AND ${canonical}`, 'singles = singles + 1'),
    /^eth block 3: WRONG: nft_blocks has what nft_transfer_lists \(all\) does not make: .*transfers 4, singles 3$/,
  ],
  [
    'a block that the chain does not tell',
    lost('execution_heights', 'block_number = 4'),
    /^eth block 4: WRONG: nft_blocks has what execution_heights does not make: block_hash 0x/,
  ],
]

describe('of who holds which token a verification', () => {
  it('finds nothing wrong, in small statements and in large ones', { timeout: TEST_MS }, async () => {
    expect(await verify()).toEqual({ wrong: 0, lines: [] })
    const { warehouse } = stores()
    for (const transfersMax of [undefined, 3]) {
      const proofs = await Array.fromAsync(proveTokens(warehouse, undefined, transfersMax))
      expect(proofs).toEqual([{ chain: CHAIN, checked: expect.any(Number), wrong: 0, examples: [] }])
      expect(proofs[0]?.checked).toBeGreaterThan(100)
    }
  })

  it.each(PLANTED)('names %s', { timeout: TEST_MS }, async (_, statement, line) => {
    const { wrong, lines } = await verify(statement)
    expect(wrong).toBeGreaterThan(0)
    expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(line), expect.stringMatching(remedy)]))
  })

  it('finds nothing wrong where blocks of the middle came late, or a log begins with them', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse, empty } = stores()
    await empty()
    let head: Block | undefined
    for (const moves of [
      [art(NOBODY, ANA, 1n), coins(NOBODY, ANA, 5n, 10n)],
      [art(ANA, BOB, 1n)],
      [coins(ANA, BOB, 5n, 2n), art(BOB, EVE, 1n)],
      [art(EVE, NOBODY, 1n), coins(BOB, EVE, 5n, 1n)],
      [art(NOBODY, ANA, 1n), coins(ANA, NOBODY, 5n, 8n)],
    ])
      head = blockOn(head, moves)
    const [first, second, ...rest] = chainOf(head) as [Block, Block, ...Block[]]
    const proofs = async () =>
      (await Array.fromAsync(proveTokens(warehouse))).map(({ wrong, examples }) => ({ wrong, examples }))
    await tellAll(rest.flatMap(eventsOfBlock))
    await fold()
    expect(await proofs()).toEqual([{ wrong: 0, examples: [] }])
    await tellAll([first, second].flatMap(eventsOfBlock))
    await fold()
    expect(await warehouse.query('SELECT DISTINCT start FROM nft_blocks')).toEqual([{ start: '1' }])
    expect(await proofs()).toEqual([{ wrong: 0, examples: [] }])
  })
})
