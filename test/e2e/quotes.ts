import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Status } from '../../commands/status.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import {
  BATCH_DEPOSIT_ADDRESS,
  DEVNET_CHAIN_ID,
  EXIT_REQUEST_ADDRESS,
  WITHDRAWAL_REQUESTS_ADDRESS,
} from '../../infra/devnet/execution/genesis.ts'
import { FAR_FUTURE_EPOCH_TEXT } from '../../schemas/eth/far-future.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { gasOf } from '../../schemas/eth/staking-transaction.ts'
import type { StakeQuote } from '../../schemas/routes/quotes/stake-quote.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import { askJsonRpc } from '../ask-json-rpc.ts'
import { STRANGER, WALLET } from '../wallets.ts'
import { createToken } from './account.ts'
import { runChain, writeChains } from './configuration.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { recipientsOf } from './run-keys.ts'

const SLOTS_PER_EPOCH = 32
/** Of the devnet: epochs that a validator is active before it may exit, of which each costs the program two seconds of a core. */
const SHARD_COMMITTEE_PERIOD = 8
const PERIODS = { shardCommitteePeriodEpochs: SHARD_COMMITTEE_PERIOD }
const ACCOUNT = 'quotes'
const COUNT = 4
const AMOUNT_GWEI = String(BigInt(COUNT) * 32_000_000_000n)
/** The first epochs are final: the index knows what the chain pays. */
const FIRST_SLOT = 200
/** The deposits are final, out of the queue, and in an epoch that is final itself. */
const REGISTERED_SLOT = 580
/** What is sent now is final after so many. */
const FINAL_SLOTS = 4 * SLOTS_PER_EPOCH

export interface QuotesOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
}

/** Whoever asks gets a transaction without a token, a wallet signs and sends it, and the chain takes the validators in. */
export function quotesSuite({ mode, modeOf }: QuotesOptions): void {
  describe(`quotes in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-quotes-'))
    let devnet: DevnetChild
    let program: Running
    let token: string
    let env: Environment

    let staked: readonly ValidatorDetail[]

    type Query = Readonly<Record<string, string>>
    const askFor = async (operation: string, query: Query) => {
      const response = await fetch(`${program.url}/aggregator/api/v1/${operation}?${new URLSearchParams(query)}`)
      const reason = response.headers.get('x-reason')
      return { status: response.status, text: await response.text(), ...(reason === null ? {} : { reason }) }
    }
    const ask = (query: Query) => askFor('quote/stake', query)
    const unstake = (query: Query) => askFor('quote/unstake', { address: WALLET.address, ...query })
    const quoteFor = async (query: Readonly<Record<string, string>>): Promise<StakeQuote> => {
      const { status, text } = await ask(query)
      expect(status, text).toBe(200)
      return JSON.parse(text) as StakeQuote
    }
    const rpc = (method: string, params: readonly unknown[]) => askJsonRpc(devnet.executionUrl, method, params)
    const beacon = async <Data>(path: string): Promise<Data> => {
      const { data } = (await (await fetch(`${devnet.beaconUrl}/eth/v1/beacon/${path}`)).json()) as { data: Data }
      return data
    }
    const exitEpochOf = async (pubkey: string) =>
      (await beacon<{ validator: { exit_epoch: string } }>(`states/head/validators/${pubkey}`)).validator.exit_epoch
    const headSlot = async () =>
      Number((await beacon<{ header: { message: { slot: string } } }>('headers/head')).header.message.slot)
    const send = (transaction: StakeQuote['transaction']) => sendFrom(WALLET, transaction)
    const sendFrom = async (wallet: typeof WALLET, { to, data, value, gas, chainId }: StakeQuote['transaction']) => {
      const nonce = Number(await rpc('eth_getTransactionCount', [wallet.address, 'pending']))
      const fees = { maxFeePerGas: 20n * 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n }
      const quoted = {
        to: to as Hex,
        data: data as Hex,
        value: BigInt(value),
        gas: BigInt(gas),
        chainId: Number(chainId),
      }
      return await rpc('eth_sendRawTransaction', [await wallet.signTransaction({ ...quoted, ...fees, nonce })])
    }
    const mine = { address: WALLET.address, amount: AMOUNT_GWEI }

    beforeAll(async () => {
      devnet = await startDevnetChild(PERIODS)
      const file = join(directory, 'epochline.yaml')
      const contracts = { staking: { contract: BATCH_DEPOSIT_ADDRESS }, exit_contract: EXIT_REQUEST_ADDRESS }
      const mainnet = { ...runChain(file, devnet), ...contracts }
      writeChains(file, { mainnet }, { quote: { chain: 'mainnet', account: ACCOUNT } })
      env = { ...modeOf('quotes'), EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: file }
      program = await startProgram(['all'], env)
      token = await createToken(env, { account: ACCOUNT })
      // What one validator of the chain is paid tells what staking yields.
      const tracked = await runCommand(['admin', 'validators', 'track', '--account', ACCOUNT, hexOf(pubkeyOf(0))], env)
      expect(tracked.code, tracked.stderr).toBe(0)
      await devnet.advanceTo(FIRST_SLOT)
      const answers = async () => ((await ask(mine)).status === 200 ? true : undefined)
      await eventually('a quote', answers)
    })

    afterAll(async () => {
      await program?.kill()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    it('are the same for the same question, with what the chain pays', async () => {
      const quote = await quoteFor(mine)
      expect(quote).toMatchObject({
        strategyId: '32x',
        weights: ['100%'],
        yieldsBreakdown: [expect.stringMatching(/^\d+\.\d\d%$/), '0.00%'],
        yieldSource: 'formula',
        transaction: {
          from: WALLET.address,
          value: `0x${(BigInt(COUNT) * 32n * 10n ** 18n).toString(16)}`,
          chainId: `0x${DEVNET_CHAIN_ID.toString(16)}`,
        },
      })
      expect(quote.totalYield).toBe(quote.yieldsBreakdown[0])
      expect(await quoteFor(mine)).toEqual(quote)
      expect((await quoteFor({ ...mine, source: 'another' })).transaction.data).not.toBe(quote.transaction.data)
      expect(await ask({ ...mine, amount: '1' })).toMatchObject({ status: 405, text: 'Invalid input' })
    })

    it('know the gas for a wallet that has no ether yet', async () => {
      const { address } = privateKeyToAccount(generatePrivateKey())
      const gas = BigInt((await quoteFor({ address, amount: '32000000000' })).transaction.gas)
      expect(gas).toBeGreaterThan(60_000n)
      expect(gas).toBeLessThan(gasOf(1))
    })

    it('are in the registry once their wallet has sent them, and the next one is for other validators', async () => {
      const { transaction } = await quoteFor(mine)
      const hash = await send(transaction)
      expect((await quoteFor(mine)).transaction.data).not.toBe(transaction.data)
      await devnet.advanceTo(FIRST_SLOT + 2)
      expect(await rpc('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' })
      await devnet.advanceTo(REGISTERED_SLOT)
      const registered = async () => {
        const response = await fetch(`${program.url}/ethereum/mainnet/${token}/api/v1/validator/details`, {
          method: 'POST',
          body: JSON.stringify({ withdrawal_address: WALLET.address, limit: 1_000 }),
        })
        const { data } = (await response.json()) as { data: readonly ValidatorDetail[] | null }
        // Tables that are a moment behind have them waiting for an epoch that is not fixed yet.
        const isFixed = ({ activation_epoch: epoch }: ValidatorDetail) => epoch !== FAR_FUTURE_EPOCH_TEXT
        const found = (data ?? []).filter((detail) => /^(pending|active)_/.test(detail.status) && isFixed(detail))
        return found.length === COUNT ? found : undefined
      }
      staked = await eventually('the registry', registered)
      for (const detail of staked) {
        expect(detail).toMatchObject({
          withdrawal_address: WALLET.address,
          withdrawal_credentials: `0x01${'00'.repeat(11)}${WALLET.address.slice(2).toLowerCase()}`,
        })
        expect(transaction.data).toContain(detail.pubkey.slice(2))
      }
      const keys = staked.map(({ pubkey }) => pubkey)
      const recipients = await eventually('somebody who runs them', () => recipientsOf(devnet, keys))
      expect(recipients).toEqual(keys.map(() => WALLET.address.toLowerCase()))
    })

    it('are refused for what the chain would pass over', async () => {
      const [pubkey = '', other = ''] = staked.map((detail) => detail.pubkey)
      const stranger = privateKeyToAccount(generatePrivateKey()).address
      const refused = async (query: Query) => {
        const { reason, ...answer } = await unstake(query)
        expect(answer).toEqual({ status: 405, text: 'Invalid input' })
        return reason
      }
      expect(await refused({ pubkeys: pubkey })).toMatch(/not active yet|may exit from epoch/)
      expect(await refused({ pubkeys: `0x${'ab'.repeat(48)}` })).toBe('the chain does not know the validator')
      expect(await refused({ pubkeys: pubkey, address: stranger })).toMatch(/not the withdrawal address/)
      expect(await refused({ pubkeys: `${pubkey},0x${'ab'.repeat(48)}` })).toMatch(/is not known to the chain/)
      expect(await refused({ pubkeys: `${pubkey},${other}`, address: stranger })).toMatch(/another withdrawal address/)
      expect(await refused({ pubkeys: 'all', address: stranger })).toMatch(/none of the validators/)
      expect(await refused({ pubkeys: 'all', amount: '32000000000' })).toMatch(/as a whole/)
    })

    it('make a validator exit once it has been active for long enough', async () => {
      const [{ pubkey, activation_epoch: activation } = fail()] = staked
      await devnet.advanceTo((Number(activation) + SHARD_COMMITTEE_PERIOD) * SLOTS_PER_EPOCH)
      expect((await unstake({ pubkeys: pubkey, amount: '1000000000' })).reason).toMatch(/unstaked as a whole/)
      const { status, text } = await unstake({ pubkeys: pubkey.slice(2).toUpperCase(), amount: '32000000000' })
      expect(status, text).toBe(200)
      const transaction = JSON.parse(text) as StakeQuote['transaction']
      expect(transaction).toMatchObject({
        to: getAddress(WITHDRAWAL_REQUESTS_ADDRESS),
        from: WALLET.address,
        value: '0x6', // after 32 more requests the fee is e^(32/17)
        data: `${pubkey}${'00'.repeat(8)}`,
      })
      expect(await rpc('eth_call', [{ to: transaction.to }, 'latest'])).toBe(`0x${'1'.padStart(64, '0')}`)
      const hash = await send(transaction)
      const slot = Number(activation) * SLOTS_PER_EPOCH + SHARD_COMMITTEE_PERIOD * SLOTS_PER_EPOCH + 3
      await devnet.advanceTo(slot)
      const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as { status: string; gasUsed: string }
      expect(receipt.status).toBe('0x1')
      expect(BigInt(receipt.gasUsed)).toBeLessThan(BigInt(transaction.gas))
      expect(await exitEpochOf(pubkey)).not.toBe(FAR_FUTURE_EPOCH_TEXT)
      const exiting = async () => {
        const { reason = '' } = await unstake({ pubkeys: pubkey })
        return reason.includes('exiting already') ? true : undefined
      }
      await eventually('a refusal of another request', exiting)
    })

    it('make several validators exit by one transaction, and all of them by another, once they are final and theirs', async () => {
      const others = staked.slice(1).map(({ pubkey }) => pubkey)
      const quoted = async (pubkeys: string): Promise<StakeQuote['transaction']> => {
        const { status, text } = await unstake({ pubkeys })
        expect(status, text).toBe(200)
        return JSON.parse(text) as StakeQuote['transaction']
      }
      const transaction = await quoted(others.slice(0, 2).join(','))
      expect(transaction).toMatchObject({ to: getAddress(EXIT_REQUEST_ADDRESS), from: WALLET.address, value: '0x0' })
      // A stranger may send the same, and is not listened to.
      await sendFrom(STRANGER, transaction)
      const hash = await send(transaction)
      await send(await quoted('all'))
      const slot = await headSlot()
      await devnet.advanceTo(slot + 3)
      const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as { status: string; gasUsed: string }
      expect(receipt.status).toBe('0x1')
      expect(BigInt(receipt.gasUsed)).toBeLessThan(BigInt(transaction.gas))
      expect(new Set(await Promise.all(others.map(exitEpochOf)))).toEqual(new Set([FAR_FUTURE_EPOCH_TEXT]))
      await devnet.advanceTo(slot + FINAL_SLOTS)
      const ended = async () => {
        const { exit_calls: calls } = JSON.parse((await runCommand(['status', '--json'], env)).stdout) as Status
        return calls?.mainnet?.taken === 2 && calls.mainnet.ignored === 1 ? calls.mainnet : undefined
      }
      const { not_whole: notWhole } = await eventually('the end of the calls', ended)
      expect(notWhole).toMatchObject([
        { withdrawal_address: STRANGER.address.toLowerCase(), reason: 'not_withdrawal_address' },
        { withdrawal_address: WALLET.address.toLowerCase(), passed_over: { already_exiting: 1 } }, // by its own request
      ])
      let next = slot + FINAL_SLOTS
      const leaving = async () => {
        await devnet.advanceTo(++next) // a slot may have no block
        const epochs = await Promise.all(others.map(exitEpochOf))
        return epochs.includes(FAR_FUTURE_EPOCH_TEXT) ? undefined : true
      }
      await eventually('the exits on chain', leaving)
      expect((await unstake({ pubkeys: 'all' })).reason).toMatch(/all of the validators are exiting already/)
    })

    it('are too many at some point', async () => {
      const hundred = { ...mine, amount: '3200000000000' }
      expect((await ask({ ...hundred, source: 'a' })).status).toBe(200)
      expect(await ask({ ...hundred, source: 'b' })).toMatchObject({ status: 429, text: 'Too Many Requests' })
    })
  })
}

function fail(): never {
  throw new Error('nothing was staked')
}
