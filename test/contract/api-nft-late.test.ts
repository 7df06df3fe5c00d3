import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ART, blockOn, COINS, eventsOf, NOBODY, tell } from '../unit/given-nft-chain.ts'
import { SCROLL } from './api-fixture.ts'
import { TOKEN } from './given-api.ts'
import { ANN, BOB, base, CID, type GivenNftApi, openGivenNftApi } from './given-nft-api.ts'

// Indexed from block 100 on: ANN has sent a token of ART to BOB, and 5 of a token of COINS, of which BOB has sent 2 to CID.

const CHAIN = SCROLL.names.name
let nft: GivenNftApi
beforeAll(async () => {
  nft = await openGivenNftApi()
})
afterAll(() => nft[Symbol.asyncDispose]())
const get = (operation: string, query: string, chain = CHAIN) => nft.get(operation, query, chain)

interface Row {
  readonly contract_address: Address
  readonly is_amount_whole: boolean
}
const wholes = (rows: readonly Row[]) => rows.map(({ is_amount_whole }) => is_amount_whole)

describe('where indexing began late', () => {
  test('a token that is one of a kind is whole, and amounts say that they are what came since', async () => {
    const { body } = await get('getNFTsForOwner', `owner=${BOB}`)
    expect(body.owner_nfts).toMatchObject([
      { contract_address: ART, balance: '1', is_amount_whole: true, owner: { owners: [{ is_amount_whole: true }] } },
      {
        contract_address: COINS,
        balance: '3',
        is_amount_whole: false,
        owner: { owners: [{ is_amount_whole: false }] },
      },
    ])
    const owners = async (query: string) => wholes((await get('getOwnersForNFT', query)).body.owners)
    expect(await owners(`contract_address=${ART}&token_id=1`)).toEqual([true])
    expect(await owners(`contract_address=${COINS}&token_id=7`)).toEqual([false, false])
  })

  test('sums over tokens are none of them whole', async () => {
    for (const contract of [ART, COINS]) {
      const { owners } = (await get('getOwnersForContract', `contract_address=${contract}`)).body
      expect(new Set(wholes(owners))).toEqual(new Set([false]))
    }
    expect(wholes((await get('getContractsForOwner', `owner=${BOB}`)).body.contracts)).toEqual([false, false])
  })

  test('nobody is told to hold nothing of what may have been there before', async () => {
    const { body } = await get('getChanges', '')
    const told = body.changes.flatMap(({ holdings }: { holdings: (Row & Record<string, unknown>)[] }) =>
      holdings.map((row) => [
        row.contract_address,
        row.owner_address,
        row.amount,
        row.is_amount_whole,
        row.is_inconsistent,
      ]),
    )
    expect(told).toEqual([
      [ART, BOB, '1', true, false],
      [COINS, ANN, null, false, false],
      [COINS, BOB, '5', false, false],
      [COINS, BOB, '3', false, false],
      [COINS, CID, '2', false, false],
    ])
  })

  test('GraphQL and CSV say the same', async () => {
    const query = `{ nft { owner(address: "${BOB}") { tokens { ownerNfts { balance isAmountWhole } } contracts { contracts { isAmountWhole } } }
      token(contractAddress: "${COINS}", tokenId: "7") { owners { owners { amount isAmountWhole } } } } }`
    const { body } = await nft.ask(`/scroll/mainnet/${TOKEN}/graphql`, {
      method: 'POST',
      body: JSON.stringify({ query }),
    })
    expect(body.data.nft).toEqual({
      owner: {
        tokens: {
          ownerNfts: [
            { balance: '1', isAmountWhole: true },
            { balance: '3', isAmountWhole: false },
          ],
        },
        contracts: { contracts: [{ isAmountWhole: false }, { isAmountWhole: false }] },
      },
      token: {
        owners: {
          owners: [
            { amount: '3', isAmountWhole: false },
            { amount: '2', isAmountWhole: false },
          ],
        },
      },
    })
    const csv = await (await fetch(`${nft.api.url}${base(CHAIN)}/owners.csv?contract_address=${COINS}`)).text()
    expect(csv).toBe(
      `owner_address,amount,tokens,last_change_block,is_amount_whole\n${BOB},3,1,101,false\n${CID},2,1,101,false\n`,
    )
  })

  test('what a contract has that was made since is whole', async () => {
    const young: Address = `0x${'0d'.repeat(20)}`
    await nft.warehouse.command(
      `INSERT INTO nft_contracts (chain, contract, block_number, token_type, deploy_block, version)
       VALUES ('${CHAIN}', unhex('${young.slice(2)}'), 101, 'ERC721', 100, 1)`,
    )
    const parent = { number: 101, hash: (await get('getNFTsForOwner', `owner=${BOB}`)).body.valid_at.block_hash }
    const block = blockOn({ ...parent, parent: undefined, moves: [] }, [
      { contract: young, from: NOBODY, to: CID, id: 1n, amount: 1n },
    ])
    await tell(nft.warehouse, eventsOf(block, CHAIN), { chain: CHAIN })
    await nft.fold(CHAIN)
    const { contracts } = (await get('getContractsForOwner', `owner=${CID}`)).body
    expect(contracts.map((row: Row) => [row.contract_address, row.is_amount_whole])).toEqual([
      [COINS, false],
      [young, true],
    ])
    expect(wholes((await get('getOwnersForContract', `contract_address=${young}`)).body.owners)).toEqual([true])
    const without = await get('getContractsForOwner', `owner=${CID}&with_metadata=false`)
    expect(wholes(without.body.contracts)).toEqual([false, true])
  })
})

test('where everything is indexed all amounts are whole', async () => {
  const mainnet = 'eth_mainnet'
  const { owner_nfts } = (await get('getNFTsForOwner', `owner=${ANN}`, mainnet)).body
  expect(wholes(owner_nfts)).toEqual([true, true, true])
  expect(wholes((await get('getContractsForOwner', `owner=${ANN}`, mainnet)).body.contracts)).toEqual([true, true])
  expect(wholes((await get('getOwnersForContract', `contract_address=${COINS}`, mainnet)).body.owners)).toEqual([
    true,
    true,
    true,
  ])
})
