import { type Abi, decodeFunctionResult, encodeDeployData, encodeFunctionData, type Hex, multicall3Abi } from 'viem'
import artifacts from '../../infra/devnet/collections/artifacts.json' with { type: 'json' }
import { openAnvil } from '../../infra/devnet/execution/anvil-process.ts'
import {
  GAS_LIMIT,
  MULTICALL3_ADDRESS,
  SCENARIO_MNEMONIC,
  writeGenesisFile,
} from '../../infra/devnet/execution/genesis.ts'
import type { Call } from '../../infra/devnet/execution/json-rpc.ts'

/** OpenZeppelin's contracts on an anvil of their own, and what they say of themselves when they are asked. */

export type Name = keyof typeof artifacts.contracts
export const SINGLES = ['Lanterns', 'Charts', 'Echoes', 'Inscriptions', 'Almanac'] as const satisfies readonly Name[]
export const MAX = 2n ** 256n - 1n
const NOBODY: Hex = `0x${'00'.repeat(20)}`
const PEOPLE = 6
const CHART_COUNTS = [100, 1, 30]
/** Ids that tokens of contracts are made with; no others are asked for. */
export const IDS: Readonly<Record<Exclude<Name, 'Halves'>, readonly bigint[]>> = {
  Lanterns: [0n, 1n, 2n, 3n, 2n ** 255n, MAX],
  Inscriptions: [0n, 7n, 2n ** 64n, MAX - 1n, MAX],
  Almanac: [1n, 2n, 3n, MAX],
  Echoes: [0n, 1n, 2n, 3n, 4n, 5n, MAX - 3n, MAX - 2n, MAX - 1n, MAX],
  Charts: Array.from({ length: CHART_COUNTS.reduce((sum, count) => sum + count) }, (_, id) => BigInt(id)),
  Provisions: [0n, 1n, 2n ** 128n, MAX],
}

export interface Move {
  readonly contract: Name
  readonly sender: Hex
  readonly functionName: string
  readonly args: readonly unknown[]
}

/** What contracts say after a block: each amount that is not 0. */
export interface Said {
  /** By contract, id and holder. */
  readonly held: ReadonlyMap<string, bigint>
  /** How many tokens of a contract somebody has, as the contract counts them; of contracts that do. */
  readonly counted: ReadonlyMap<string, bigint>
  /** How many tokens there are of contracts that count them. */
  readonly supply: ReadonlyMap<string, bigint>
}

export interface Collections extends AsyncDisposable {
  readonly url: string
  readonly people: readonly Hex[]
  readonly addresses: Readonly<Record<Name, Hex>>
  /** Mines a block of these moves, those that the contracts refuse included. */
  mine(moves: readonly Move[]): Promise<void>
  headNumber(): Promise<number>
  hashOf(number: number): Promise<string>
  /** Asks the contracts as of a block. */
  ask(number: number): Promise<Said>
  rpc(method: string, params: readonly unknown[]): Promise<unknown>
}

export const keyOf = (contract: Hex, ...rest: readonly (bigint | string)[]) => [contract, ...rest].join(' ')

export async function openCollections(): Promise<Collections> {
  await using stack = new AsyncDisposableStack()
  const genesis = stack.use(await writeGenesisFile([]))
  const anvil = stack.use(
    await openAnvil({
      chainId: 7_000_721,
      genesisTimeSec: 1_700_000_000,
      mnemonic: SCENARIO_MNEMONIC,
      accounts: PEOPLE,
      accountBalanceEth: 1_000_000,
      gasLimit: GAS_LIMIT,
      baseFeeWei: 1_000_000_000n,
      genesisFile: genesis.path,
    }),
  )
  const { rpc } = anvil
  const people = ((await rpc.call('eth_accounts', [])) as Hex[]).map((address) => address.toLowerCase() as Hex)
  const [deployer = NOBODY] = people

  async function send(calls: readonly Call[]): Promise<readonly Hex[]> {
    const sent = await rpc.batch(calls)
    await rpc.call('evm_mine', [])
    return sent.map((outcome) => {
      if (outcome.status === 'error') throw new Error(outcome.message)
      return outcome.result as Hex
    })
  }

  async function deploy(name: Name): Promise<readonly [Name, Hex]> {
    const base = `http://127.0.0.1/${name.toLowerCase()}/`
    const args = {
      Charts: [base, CHART_COUNTS.map((_, i) => people[i % PEOPLE]), CHART_COUNTS],
      Inscriptions: [],
    }[name as string] ?? [base]
    const { abi, bytecode } = artifacts.contracts[name]
    const input = encodeDeployData({ abi: abi as Abi, bytecode: bytecode as Hex, args })
    const [hash] = await send([['eth_sendTransaction', [{ from: deployer, input, gas: '0x989680' }]]])
    const receipt = (await rpc.call('eth_getTransactionReceipt', [hash])) as { contractAddress: Hex; status: Hex }
    if (receipt.status !== '0x1') throw new Error(`${name} was not made`)
    return [name, receipt.contractAddress.toLowerCase() as Hex]
  }

  const deployed: (readonly [Name, Hex])[] = []
  for (const name of Object.keys(artifacts.contracts) as Name[]) deployed.push(await deploy(name))
  const addresses = Object.fromEntries(deployed) as Record<Name, Hex>

  const encode = (contract: Name, functionName: string, args: readonly unknown[]) =>
    encodeFunctionData({ abi: artifacts.contracts[contract].abi as Abi, functionName, args })
  const toCall = ({ contract, sender, functionName, args }: Move): Call => [
    'eth_sendTransaction',
    [{ from: sender, to: addresses[contract], input: encode(contract, functionName, args), gas: '0xf4240' }],
  ]

  /** The results of views, undefined where one reverts: many in a call. */
  async function read(number: number, questions: readonly Question[]): Promise<readonly (Hex | undefined)[]> {
    const results: (Hex | undefined)[] = []
    for (let from = 0; from < questions.length; from += QUESTIONS_PER_CALL) {
      const part = questions.slice(from, from + QUESTIONS_PER_CALL)
      const calls = part.map(({ contract, functionName, args }) => ({
        target: addresses[contract],
        allowFailure: true,
        callData: encode(contract, functionName, args),
      }))
      const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [calls] })
      const at = `0x${number.toString(16)}`
      const answer = (await rpc.call('eth_call', [{ to: MULTICALL3_ADDRESS, data }, at])) as Hex
      const decoded = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: answer })
      for (const { success, returnData } of decoded)
        results.push(success && returnData !== '0x' ? returnData : undefined) // none: there is no contract yet
    }
    return results
  }

  async function ask(number: number): Promise<Said> {
    const [minted = '0x0'] = await read(number, [{ contract: 'Halves', functionName: 'minted', args: [] }])
    const halves = Array.from({ length: Number(minted) }, (_, i) => BigInt(i + 1))
    const owners = [
      ...SINGLES.flatMap((contract) => IDS[contract].map((id) => ({ contract, id }))),
      ...halves.map((id) => ({ contract: 'Halves' as const, id })),
    ]
    const amounts = IDS.Provisions.flatMap((id) =>
      people.map((holder) => ({ contract: 'Provisions' as const, id, holder })),
    )
    const counts = SINGLES.flatMap((contract) => people.map((holder) => ({ contract, holder })))
    const answers = await read(number, [
      ...owners.map(({ contract, id }) => ({ contract, functionName: 'ownerOf', args: [id] })),
      ...amounts.map(({ contract, id, holder }) => ({ contract, functionName: 'balanceOf', args: [holder, id] })),
      ...counts.map(({ contract, holder }) => ({ contract, functionName: 'balanceOf', args: [holder] })),
      { contract: 'Lanterns', functionName: 'totalSupply', args: [] },
    ])
    const held = new Map<string, bigint>()
    const counted = new Map<string, bigint>()
    owners.forEach(({ contract, id }, i) => {
      const word = answers[i]
      if (word !== undefined) held.set(keyOf(addresses[contract], id, `0x${word.slice(-40)}`), 1n)
    })
    amounts.forEach(({ contract, id, holder }, i) => {
      const amount = BigInt(answers[owners.length + i] ?? 0n)
      if (amount > 0n) held.set(keyOf(addresses[contract], id, holder), amount)
    })
    counts.forEach(({ contract, holder }, i) => {
      const count = BigInt(answers[owners.length + amounts.length + i] ?? 0n)
      if (count > 0n) counted.set(keyOf(addresses[contract], holder), count)
    })
    return { held, counted, supply: new Map([[addresses.Lanterns, BigInt(answers.at(-1) ?? 0n)]]) }
  }

  const open = stack.move()
  return {
    url: anvil.url,
    people,
    addresses,
    async mine(moves) {
      await send(moves.map(toCall))
    },
    headNumber: async () => Number(await rpc.call('eth_blockNumber', [])),
    async hashOf(number) {
      const block = await rpc.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])
      return (block as { hash: string }).hash
    },
    ask,
    rpc: (method, params) => rpc.call(method, params),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

interface Question {
  readonly contract: Name
  readonly functionName: string
  readonly args: readonly unknown[]
}

const QUESTIONS_PER_CALL = 400
