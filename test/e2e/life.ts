import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hex, parseTransaction } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BATCH_DEPOSIT_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { type ChainClock, epochOf } from '../../schemas/eth/time.ts'
import type { ReadyAnswer } from '../../schemas/routes/probes.ts'
import type { StakeQuote } from '../../schemas/routes/quotes/stake-quote.ts'
import type { ValidatorTotal } from '../../schemas/routes/rewards/total-rewards.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import type { HistoryStep } from '../../schemas/routes/validators/validator-history.ts'
import { tries } from '../long-form.ts'
import { WALLET } from '../wallets.ts'
import { createToken } from './account.ts'
import { runChain, writeChains } from './configuration.ts'
import { compareLooks, type Look, looksAt, summaryOf } from './estimate-looks.ts'
import { happenedTo } from './life-on-chain.ts'
import { finalEpochOf, rpc } from './oracle.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { expectWholeDays } from './whole-days.ts'

/** A leap of hundreds of epochs. */
const LEAP_TIMEOUT_MS = 480_000
const ACCOUNT = 'acme'
const CREATED_SLOT = 40
/**
 * Epochs that a validator is active before it may exit, and from its exit until it is paid: mainnet's in the long form. In the short one
 * the whole day of the activation, which ends with epoch 65, is final before the validators are paid.
 */
const SHARD_COMMITTEE_PERIOD = tries(25, 256)
const WITHDRAWABILITY_DELAY = tries(25, 256)
const FAR_FUTURE_EPOCH = String(2n ** 64n - 1n)
/** Within so many epochs an estimate has to be right while the chain has not fixed what it is of; of a payment half of a sweep's cycle more. */
const ERROR_EPOCHS_MAX = 2
const HALF_CYCLE_EPOCHS = 0.27 // 258 validators, 16 of them in a block

export interface LifeOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
}

/** Two validators from their creation to their swept balances: one leaves by the API, one by its wallet's own transaction. */
export function lifeSuite({ mode, modeOf }: LifeOptions): void {
  describe(`the life of a validator in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-life-'))
    let devnet: DevnetChild
    let clock: ChainClock
    let env: Environment
    let program: Running
    let token: string
    let created: Created
    let headSlot = 0
    /** Asks for its exit here. */
    let leaving: string
    /** Is unstaked by its wallet. */
    let unstaked: string
    const looks: Look[] = []

    const ask = async <Data>(path: string, body?: object): Promise<Data> => {
      const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      const response = await fetch(`${program.url}/ethereum/mainnet/${token}/api/v1/validator/${path}`, init)
      const answer = (await response.json()) as { readonly code: string; readonly msg: string; readonly data: Data }
      expect(answer).toMatchObject({ code: '200' })
      return answer.data
    }
    const details = async (): Promise<readonly ValidatorDetail[]> => {
      const found = await ask<readonly ValidatorDetail[]>('details', { pubkeys: [leaving, unstaked] })
      expect(found).toHaveLength(2)
      return found
    }
    const ready = async () => (await (await fetch(`${program.url}/ready`)).json()) as ReadyAnswer
    const beacon = async <Data>(path: string): Promise<Data> => {
      const response = await fetch(`${devnet.beaconUrl}/eth/v1/${path}`)
      return ((await response.json()) as { data: Data }).data
    }
    /** The chain goes on to a slot, and the program has all that is final by then in its tables. */
    const leadTo = async (slot: number): Promise<void> => {
      await devnet.advanceTo(slot)
      headSlot = slot
      const final = await finalEpochOf(devnet)
      const { header } = await beacon<{ header: { message: { slot: string } } }>('beacon/headers/head')
      const isFollowed = async () => {
        const { head_slot: head, last_finalized_epoch: epoch, lag } = await ready()
        if (String(head) !== header.message.slot || (epoch ?? -1) < final) return undefined
        return Object.values(lag).every((events) => events === 0) ? true : undefined
      }
      await eventually(`all up to slot ${slot}`, isFollowed, LEAP_TIMEOUT_MS)
    }
    /** What the estimates are when all of the head is known. */
    const look = async (): Promise<readonly ValidatorDetail[]> => {
      const found = await details()
      for (const detail of found) looks.push(...looksAt(headSlot, detail, clock))
      return found
    }
    /** Leads on by epochs, with a look after each step, until all validators are as they should be. */
    const leadUntil = async (
      isSo: (detail: ValidatorDetail) => boolean,
      { stepEpochs, epochsMax }: { readonly stepEpochs: number; readonly epochsMax: number },
    ): Promise<readonly ValidatorDetail[]> => {
      for (let epochs = 0; epochs <= epochsMax; epochs += stepEpochs) {
        await leadTo(headSlot + stepEpochs * clock.slotsPerEpoch)
        const found = await look()
        if (found.every(isSo)) return found
      }
      throw new Error(`not so after ${epochsMax} epochs: ${JSON.stringify(await details())}`)
    }
    const wallet = async (transaction: object): Promise<Hex> => {
      const nonce = Number(await rpc<Hex>(devnet.executionUrl, 'eth_getTransactionCount', [WALLET.address, 'pending']))
      const fees = { maxFeePerGas: 100n * 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n }
      return WALLET.signTransaction({ ...transaction, ...fees, nonce } as Parameters<typeof WALLET.signTransaction>[0])
    }

    beforeAll(async () => {
      devnet = await startDevnetChild({
        shardCommitteePeriodEpochs: SHARD_COMMITTEE_PERIOD,
        withdrawabilityDelayEpochs: WITHDRAWABILITY_DELAY,
      })
      const { genesis_time: genesis } = await beacon<{ genesis_time: string }>('beacon/genesis')
      const spec = await beacon<Record<string, string>>('config/spec')
      expect(spec).toMatchObject({
        SHARD_COMMITTEE_PERIOD: String(SHARD_COMMITTEE_PERIOD),
        MIN_VALIDATOR_WITHDRAWABILITY_DELAY: String(WITHDRAWABILITY_DELAY),
      })
      clock = {
        genesisTimeSec: Number(genesis),
        secondsPerSlot: Number(spec.SECONDS_PER_SLOT),
        slotsPerEpoch: Number(spec.SLOTS_PER_EPOCH),
      }
      const file = join(directory, 'epochline.yaml')
      const mainnet = { ...runChain(file, devnet), staking: { contract: BATCH_DEPOSIT_ADDRESS } }
      writeChains(file, { mainnet }, { quote: { chain: 'mainnet', account: ACCOUNT } })
      env = { ...modeOf('life'), EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: file }
      token = await createToken(env, { account: ACCOUNT, scopes: 'read,create,exit' })
      program = await startProgram(['all'], env)
      await devnet.advanceTo(CREATED_SLOT)
      const isKnown = () =>
        ask('details', {}).then(
          () => true,
          () => undefined,
        )
      await eventually('the account', isKnown)
    })

    afterAll(async () => {
      await program?.kill()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    it('begins with a transaction that its wallet signs, and a deposit that waits in the queue', async () => {
      created = await ask<Created>('create', { validator_count: 2, withdrawal_address: WALLET.address })
      ;[leaving, unstaked] = created.validators.map(({ pubkey }) => pubkey) as [string, string]
      const unsigned = parseTransaction(created.staking_transaction.unsigned_transaction as Hex)
      const { tx_hash: hash } = await ask<{ readonly tx_hash: Hex }>('broadcast', {
        signed_transaction: await wallet(unsigned),
      })
      await leadTo(CREATED_SLOT + 4)
      expect(await rpc(devnet.executionUrl, 'eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' })
      for (const { status } of await look()) expect(status).toBe('deposited_not_finalized')
    })

    it('goes on with duties that pay', async () => {
      const isActive = ({ status }: ValidatorDetail) => status === 'active_ongoing'
      for (const { activation_epoch: epoch } of await leadUntil(isActive, { stepEpochs: 2, epochsMax: 24 }))
        expect(Number(epoch)).toBeLessThan(24)
      await leadTo(headSlot + 8 * clock.slotsPerEpoch)
      const { validator_details: totals } = await ask<{ readonly validator_details: readonly ValidatorTotal[] }>(
        'total-rewards',
      )
      expect(totals.map(({ pubkey }) => pubkey).toSorted()).toEqual([leaving, unstaked].toSorted())
      for (const { pubkey, cl_total_reward: reward } of totals) expect(Number(reward), pubkey).toBeGreaterThan(0)
    })

    it('ends with exits: one that is asked for here, one that the wallet asks the chain for', async () => {
      await ask('exit', { pubkeys: [leaving] })
      const [{ activation_epoch: activation }] = (await look()) as [ValidatorDetail]
      await leadTo((Number(activation) + SHARD_COMMITTEE_PERIOD) * clock.slotsPerEpoch)
      const isPosted = async () => (await details()).some((detail) => detail.is_post_exit) || undefined
      await eventually('its exit at the node', isPosted)
      await look()
      const query = new URLSearchParams({ address: WALLET.address, pubkeys: unstaked })
      const quoted = await fetch(`${program.url}/aggregator/api/v1/quote/unstake?${query}`)
      expect(quoted.status, quoted.headers.get('x-reason') ?? '').toBe(200)
      const { to, data, value, gas, chainId } = (await quoted.json()) as StakeQuote['transaction']
      const request = { to, data, value: BigInt(value), gas: BigInt(gas), chainId: Number(chainId) }
      await rpc(devnet.executionUrl, 'eth_sendRawTransaction', [await wallet(request)])
      const isLeaving = ({ exit_epoch: epoch }: ValidatorDetail) => epoch !== FAR_FUTURE_EPOCH
      for (const detail of await leadUntil(isLeaving, { stepEpochs: 1, epochsMax: 12 })) {
        expect(detail.status).toMatch(/^active_exiting$|^exited_unslashed$/)
        expect(Number(detail.withdrawable_epoch) - Number(detail.exit_epoch)).toBe(WITHDRAWABILITY_DELAY)
      }
    })

    it('is over when the sweep has paid all of it to the wallet', async () => {
      const withdrawable = Math.max(...(await details()).map((detail) => Number(detail.withdrawable_epoch)))
      const stepEpochs = Math.ceil((withdrawable + 3 - epochOf(clock, headSlot)) / 3)
      const isSwept = ({ status }: ValidatorDetail) => status === 'withdrawal_done'
      await leadUntil(isSwept, { stepEpochs, epochsMax: 4 * stepEpochs })
    })

    it('has its first rewards in whole days without a gap, from the day of its activation on', async () => {
      const epochs = new Set((await details()).map((detail) => Number(detail.activation_epoch)))
      expect(epochs.size).toBe(1)
      const [activationEpoch = Number.NaN] = epochs
      const account = { url: `${program.url}/ethereum/mainnet/${token}`, pubkeys: [leaving, unstaked], activationEpoch }
      await expectWholeDays(devnet, clock, account)
    })

    it('came as it was estimated, and exactly so once the chain had fixed it', async () => {
      const compared = compareLooks(looks, await happenedTo(devnet, [leaving, unstaked], { headSlot, clock }))
      process.stdout.write(`${mode} mode, ${epochOf(clock, headSlot)} epochs:\n${summaryOf(compared)}\n`)
      for (const one of compared) {
        if (one.band === 0) expect(one.error, JSON.stringify(one)).toBe(0)
        const ofSweep = one.moment === 'withdrawal' ? HALF_CYCLE_EPOCHS : 0
        expect(Math.abs(one.error), JSON.stringify(one)).toBeLessThanOrEqual(ERROR_EPOCHS_MAX + ofSweep)
      }
      const ofFixed = compared.filter(({ band }) => band === 0)
      for (const moment of ['active', 'exit', 'withdrawal'] as const)
        expect(new Set(ofFixed.filter((one) => one.moment === moment).map(({ pubkey }) => pubkey)).size).toBe(2)
    })

    it('is one line of steps, and every figure of it is proven', async () => {
      const stepsOf = async (pubkey: string) =>
        (await ask<{ readonly history: readonly HistoryStep[] }>(`history?pubkey=${pubkey}`)).history.map(
          ({ step }) => step,
        )
      const first = ['created', 'deposited', 'deposit_finalized', 'pending_initialized', 'pending_queued', 'active']
      const last = ['exiting', 'exited', 'withdrawable', 'swept']
      // What was asked of us has the time of this machine, which is not this chain's.
      const asked: readonly string[] = ['broadcast', 'exit_requested', 'exit_submitted']
      const steps = { leaving: await stepsOf(leaving), unstaked: await stepsOf(unstaked) }
      expect(steps.leaving.filter((step) => asked.includes(step))).toEqual(asked)
      expect(steps.unstaked.filter((step) => asked.includes(step))).toEqual(['broadcast'])
      for (const one of Object.values(steps))
        expect(one.filter((step) => !asked.includes(step))).toEqual([...first, ...last])
      const verified = await runCommand(['verify'], env)
      expect(verified.code, verified.stdout + verified.stderr).toBe(0)
    })
  })
}
