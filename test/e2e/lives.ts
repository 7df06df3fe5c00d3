import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Hex, keccak256, parseTransaction } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect } from 'vitest'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import type { Answer, KilledProgram } from './killed-program.ts'
import { eventually } from './processes.ts'
import { isYoung, type StandInChain } from './stand-in-chain.ts'

const STEP_TIMEOUT_MS = 300_000
const PHRASE = 'test test test test test test test test test test test junk'
const GWEI = 10n ** 9n
const COUNT_MAX = 3
const MINED_POLL_MS = 100

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
}

export function emptyLedger(): Ledger {
  return { created: [], sent: [], leaving: new Set(), staying: new Set() }
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
    await this.exit(pubkeys)
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

  /** Broadcasts a transaction, and with `isRivalled` one of another nonce at the same time: one of them is taken, and mined. */
  async fund(created: Created, isRivalled: boolean): Promise<void> {
    const nonce = Number(await this.rpc('eth_getTransactionCount', [this.#wallet.address, 'latest']))
    const raws = await Promise.all((isRivalled ? [nonce, nonce + 1] : [nonce]).map((one) => this.sign(created, one)))
    const answers = await Promise.all(raws.map((raw) => this.broadcast(raw)))
    const taken = raws.filter((_, i) => answers[i]?.status === 200)
    expect(taken, JSON.stringify(answers)).toHaveLength(1)
    for (const { status, reason } of answers)
      if (status !== 200) expect(['pending_transaction', 'already_deposited']).toContain(reason)
    const [raw] = taken as [Hex]
    this.#ledger.sent.push(keccak256(raw))
    if (raw !== raws[0]) await this.rpc('eth_sendRawTransaction', [await this.#filler(raw, nonce)])
    const mined = async () => (await this.rpc('eth_getTransactionReceipt', [keccak256(raw)])) ?? undefined
    const receipt = await eventually('the transaction in a block', mined, STEP_TIMEOUT_MS, MINED_POLL_MS)
    expect(receipt).toMatchObject({ status: '0x1' })
    for (const rival of raws)
      if (rival !== raw) expect(await this.rpc('eth_getTransactionByHash', [keccak256(rival)])).toBeNull()
  }

  /** Uses a nonce that the taken one waits for. */
  #filler(raw: Hex, nonce: number): Promise<Hex> {
    const { chainId = 0 } = parseTransaction(raw)
    const fees = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
    return this.#wallet.signTransaction({
      type: 'eip1559',
      chainId,
      nonce,
      to: this.#wallet.address,
      gas: 21_000n,
      ...fees,
    })
  }

  broadcast(raw: Hex): Promise<Answer<{ readonly tx_hash: string }>> {
    return this.#program.untilAnswered('broadcast', { signed_transaction: raw })
  }

  sign({ staking_transaction: staking }: Created, nonce: number): Promise<Hex> {
    const unsigned = parseTransaction(staking.unsigned_transaction as Hex)
    const fees = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
    return this.#wallet.signTransaction({ ...unsigned, nonce, ...fees } as Parameters<Wallet['signTransaction']>[0])
  }

  async exit(pubkeys: readonly string[]): Promise<void> {
    expect(await this.#program.untilAnswered('exit', { pubkeys })).toMatchObject({ status: 200 })
    for (const pubkey of pubkeys) this.#ledger.leaving.add(pubkey)
  }

  /** Cancels exits, each by itself: what is signed can no longer stay. */
  async stay(pubkeys: readonly string[]): Promise<void> {
    for (const pubkey of pubkeys) {
      const answer = await this.#program.untilAnswered('exit/cancel', { pubkeys: [pubkey] })
      if (answer.status === 200) this.#ledger.staying.add(pubkey)
      else expect(answer, pubkey).toMatchObject({ status: 400, reason: 'exit_already_signed' })
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
