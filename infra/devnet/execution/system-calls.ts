import { bytesOf, type Hex } from '../../../schemas/eth/hex.ts'
import { bloomTester } from '../../../schemas/eth/receipts.ts'
import predeploys from '../contracts/predeploys.json' with { type: 'json' }
import { type Call, expectOk, type JsonRpc } from './json-rpc.ts'

/** Who calls the system contracts at the end of a block (EIP-7002, EIP-7251): an address that nobody has the key of. */
const SYSTEM_ADDRESS: Hex = '0xfffffffffffffffffffffffffffffffffffffffe'
const SYSTEM_CALL_GAS: Hex = '0x1c9c380' // 30,000,000

const WITHDRAWALS = predeploys.WithdrawalRequests.address as Hex
const CONSOLIDATIONS = predeploys.ConsolidationRequests.address as Hex
const CONTRACTS = [WITHDRAWALS, CONSOLIDATIONS] as const

type Address = (typeof CONTRACTS)[number]

/** What the system calls at the end of a block give. */
export interface EndOfBlock {
  /** The bytes that each contract returned: its dequeued requests one after the other, as SSZ has them. */
  readonly withdrawalRequests: Uint8Array
  readonly consolidationRequests: Uint8Array
  /** Bring what the calls changed into anvil's state. */
  readonly effects: readonly Call[]
  /** The contracts that the next block has to call even when nobody asks them for anything. */
  readonly busy: readonly Address[]
}

/** Storage of one contract by slot, as the tracer tells it: changed slots only, and none that is zero. */
type TracedStorage = Readonly<Record<Hex, Hex>>

interface Difference {
  readonly pre: Readonly<Record<string, { readonly storage?: TracedStorage }>>
  readonly post: Readonly<Record<string, { readonly storage?: TracedStorage }>>
}

const ZERO_WORD: Hex = `0x${'00'.repeat(32)}`
const testers = new Map(CONTRACTS.map((address) => [address, bloomTester(address)]))

/**
 * Calls the contracts with the state that anvil has, which is that of a block just mined. anvil makes no calls of its own at a block's
 * end, and a transaction would be one more in the block: so their own code runs as a traced call, and what it changes is put into the
 * state as withdrawals are. What a call does depends on the contract's storage alone, so one that changed nothing will change nothing until
 * somebody adds a request, which the block's bloom shows: such a contract is left out. That spares nearly every block the two calls.
 * A chain without the contracts (a rollup) has no requests.
 */
export async function endOfBlock(anvil: JsonRpc, logsBloom: Hex, busy: readonly Address[]): Promise<EndOfBlock> {
  const bloom = bytesOf(logsBloom)
  const called = CONTRACTS.filter((address) => busy.includes(address) || testers.get(address)?.(bloom) === true)
  const calls = called.flatMap(callsOf)
  const outcomes = await anvil.batch(calls)
  const results = calls.map((call, index) => expectOk(call, outcomes[index]))
  const effects = called.map((address, index) => storageCalls(address, results[2 * index + 1] as Difference))
  const returned = (address: Address) => bytesOf((results[2 * called.indexOf(address)] ?? '0x') as Hex)
  return {
    withdrawalRequests: returned(WITHDRAWALS),
    consolidationRequests: returned(CONSOLIDATIONS),
    effects: effects.flat(),
    busy: called.filter((_, index) => effects[index]?.length !== 0),
  }
}

/** What the call returns, and what it changes. */
function callsOf(to: Address): readonly Call[] {
  const fields = { from: SYSTEM_ADDRESS, to, gas: SYSTEM_CALL_GAS }
  const tracer = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }
  return [
    ['eth_call', [fields, 'latest']],
    ['debug_traceCall', [fields, 'latest', tracer]],
  ]
}

function storageCalls(address: Address, { pre, post }: Difference): readonly Call[] {
  const [before, after] = [pre[address]?.storage ?? {}, post[address]?.storage ?? {}]
  const slots = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort() as Hex[]
  return slots.map((slot) => ['anvil_setStorageAt', [address, slot, after[slot] ?? ZERO_WORD]])
}
