import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Hex, keccak256, parseTransaction } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect } from 'vitest'
import { DEVNET_CHAIN_ID, EXIT_REQUEST_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { decodeExitCall } from '../../schemas/eth/exit-call.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { exitRequestCall } from '../../schemas/eth/withdrawal-request.ts'
import type { TakenCall } from '../../schemas/jobs/take-exit-calls.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import type { Answer, KilledProgram } from './killed-program.ts'
import { eventually, STEP_TIMEOUT_MS } from './processes.ts'
import { isYoung, type StandInChain } from './stand-in-chain.ts'

const PHRASE = 'test test test test test test test test test test test junk'
const GWEI = 10n ** 9n
const COUNT_MAX = 3
const MINED_POLL_MS = 100
const FEES = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
const CALL_GAS = 200_000n

type Wallet = ReturnType<typeof mnemonicToAccount>

/** What clients were answered: all of it has to be so in the end. */
export interface Ledger {
  readonly created: { readonly key: string; readonly answer: Created }[]
  /** Hashes of transactions that were taken. */
  readonly sent: string[]
  /** Public keys whose exit was taken. */
  readonly leaving: Set<string>
  /** Of them those that may stay after all. */
  readonly staying: Set<string>
  /** By which exits were asked for on the chain. */
  readonly calls: TakenCall[]
}

interface Receipt {
  readonly status: string
  readonly blockHash: string
  readonly blockNumber: Hex
  readonly transactionHash: string
  readonly logs: readonly { readonly logIndex: Hex; readonly topics: readonly Hex[]; readonly data: Hex }[]
}

export function emptyLedger(): Ledger {
  return { created: [], sent: [], leaving: new Set(), staying: new Set(), calls: [] }
}

/** A customer with a wallet, who repeats what he has not heard of. */
export class Customer {
  readonly #program: KilledProgram
  readonly #chain: StandInChain
  readonly #ledger: Ledger
  readonly #wallet: Wallet

  constructor(program: KilledProgram, chain: StandInChain, { ledger, place }: { ledger: Ledger; place: number }) {
    this.#program = program
    this.#chain = chain
    this.#ledger = ledger
    this.#wallet = mnemonicToAccount(PHRASE, { addressIndex: place })
  }

  /** Creates validators, has them funded, and lets them exit. */
  async live(): Promise<void> {
    const key = randomUUID()
    const created = await this.create(key, randomInt(1, COUNT_MAX + 1))
    const again = await this.create(key, created.validators.length)
    expect(again).toEqual(created)
    const pubkeys = created.validators.map(({ pubkey }) => pubkey)
    await this.fund(created, randomInt(3) === 0)
    await (randomInt(3) === 0 ? this.call(pubkeys) : this.exit(pubkeys))
    const young = pubkeys.filter(isYoung)
    if (young.length > 0) await this.stay(young)
    const old = pubkeys.filter((pubkey) => !isYoung(pubkey))
    if (old.length > 0 && randomInt(3) === 0) await this.stay(old)
  }

  async create(key: string, count: number): Promise<Created> {
    const body = { validator_count: count, withdrawal_address: this.#wallet.address }
    const answer = await this.#program.untilAnswered<Created>('create', body, key)
    expect(answer, key).toMatchObject({ status: 200, data: { staking_transaction: { from: this.#wallet.address } } })
    const created = answer.data as Created
    expect(created.validators).toHaveLength(count)
    this.#ledger.created.push({ key, answer: created })
    return created
  }

  /** Broadcasts a transaction, and with `isRivalled` one of the nonce behind it at the same time: the first one is taken, and mined. */
  async fund(created: Created, isRivalled: boolean): Promise<void> {
    const nonce = Number(await this.rpc('eth_getTransactionCount', [this.#wallet.address, 'latest']))
    const raws = await Promise.all((isRivalled ? [nonce, nonce + 1] : [nonce]).map((one) => this.sign(created, one)))
    const answers = await Promise.all(raws.map((raw) => this.broadcast(raw)))
    const [raw, ...rivals] = raws as [Hex, ...Hex[]]
    const [first, ...refused] = answers
    expect(first, JSON.stringify(answers)).toMatchObject({ status: 200 })
    for (const { status, reason } of refused) {
      expect(status, JSON.stringify(answers)).toBe(400)
      expect(['pending_transaction', 'already_deposited', 'nonce_too_high']).toContain(reason)
    }
    this.#ledger.sent.push(keccak256(raw))
    await this.mined(raw)
    for (const rival of rivals) expect(await this.rpc('eth_getTransactionByHash', [keccak256(rival)])).toBeNull()
  }

  async mined(raw: Hex): Promise<Receipt> {
    const looked = async () =>
      ((await this.rpc('eth_getTransactionReceipt', [keccak256(raw)])) as Receipt | null) ?? undefined
    const receipt = await eventually('the transaction in a block', looked, STEP_TIMEOUT_MS, MINED_POLL_MS)
    expect(receipt.status).toBe('0x1')
    return receipt
  }

  broadcast(raw: Hex): Promise<Answer<{ readonly tx_hash: string }>> {
    return this.#program.untilAnswered('broadcast', { signed_transaction: raw })
  }

  sign({ staking_transaction: staking }: Created, nonce: number): Promise<Hex> {
    const unsigned = parseTransaction(staking.unsigned_transaction as Hex)
    return this.#wallet.signTransaction({ ...unsigned, nonce, ...FEES } as Parameters<Wallet['signTransaction']>[0])
  }

  async exit(pubkeys: readonly string[]): Promise<void> {
    expect(await this.#program.untilAnswered('exit', { pubkeys })).toMatchObject({ status: 200 })
    for (const pubkey of pubkeys) this.#ledger.leaving.add(pubkey)
  }

  /** Asks for exits by the chain: the withdrawal address calls the exit-request contract. */
  async call(pubkeys: readonly string[]): Promise<void> {
    const nonce = Number(await this.rpc('eth_getTransactionCount', [this.#wallet.address, 'latest']))
    const request = { to: EXIT_REQUEST_ADDRESS, data: exitRequestCall(pubkeys), gas: CALL_GAS }
    const terms = { type: 'eip1559', chainId: DEVNET_CHAIN_ID, nonce } as const
    const raw = await this.#wallet.signTransaction({ ...terms, ...request, ...FEES })
    await this.rpc('eth_sendRawTransaction', [raw])
    const call = await this.#readCall(await this.mined(raw))
    expect(call).toMatchObject({ withdrawalAddress: this.#wallet.address.toLowerCase(), calledFor: { pubkeys } })
    await this.#program.untilTaken(call)
    this.#ledger.calls.push(call)
    for (const pubkey of pubkeys) this.#ledger.leaving.add(pubkey)
  }

  /** As tables that know of no deposit would tell of it. */
  async #readCall({ blockHash, blockNumber, transactionHash: txHash, logs }: Receipt): Promise<TakenCall> {
    const { timestamp } = (await this.rpc('eth_getBlockByNumber', [blockNumber, false])) as { readonly timestamp: Hex }
    const [log] = logs
    if (log === undefined) throw new Error('the contract has logged nothing')
    const data = bytesOf(log.data)
    const call = decodeExitCall(Buffer.concat(log.topics.map(bytesOf)), data, data.length)
    if (call === undefined) throw new Error('the contract has logged something else')
    const { withdrawalAddress, calledFor } = call
    return {
      ...{
        blockHash,
        blockNumber: Number(blockNumber),
        logIndex: Number(log.logIndex),
        timeSec: Number(timestamp),
        txHash,
      },
      ...{
        withdrawalAddress,
        calledFor: calledFor.kind === 'listed' ? { ...calledFor, pubkeys: [...calledFor.pubkeys] } : calledFor,
        deposits: [],
      },
    }
  }

  /** Cancels exits, each by itself: what is signed, or on chain, can no longer stay. */
  async stay(pubkeys: readonly string[]): Promise<void> {
    for (const pubkey of pubkeys) {
      const answer = await this.#program.untilAnswered('exit/cancel', { pubkeys: [pubkey] })
      if (answer.status === 200) this.#ledger.staying.add(pubkey)
      else
        expect(answer, pubkey).toMatchObject({
          status: 400,
          reason: expect.stringMatching(/^(exit_already_signed|already_exiting)$/),
        })
    }
  }

  async rpc(method: string, params: readonly unknown[]): Promise<unknown> {
    const response = await fetch(this.#chain.executionUrl, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      headers: { 'content-type': 'application/json' },
    })
    const { result, error } = (await response.json()) as { result?: unknown; error?: unknown }
    expect(error, method).toBeUndefined()
    return result
  }
}

/** Lives until the signal aborts, and then to the end of the life that it is in. */
export async function liveOn(customer: Customer, signal: AbortSignal): Promise<number> {
  let lives = 0
  for (; !signal.aborted; lives++) {
    await customer.live()
    await delay(randomInt(20))
  }
  return lives
}
