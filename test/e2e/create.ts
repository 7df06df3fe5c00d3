import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hex, keccak256, parseTransaction } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BATCH_DEPOSIT_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import type { HistoryStep } from '../../schemas/routes/validators/validator-history.ts'
import { askJsonRpc } from '../ask-json-rpc.ts'
import { WRONG_BROADCASTS, WRONG_CREATIONS, WRONG_EXITS, type WrongRequest } from '../contract/wrong-requests.ts'
import { WALLET } from '../wallets.ts'
import { createToken } from './account.ts'
import { ethereumChain, runChain, writeChains } from './configuration.ts'
import { forgetJobs } from './forget-jobs.ts'
import { leftBehind, moreThan } from './left-behind.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { recipientsOf } from './run-keys.ts'
import { eventsOf, openLog } from './stores.ts'

const COUNT = 3
const AT_ONCE = 100
const UNFUNDED_MAX = 203 // there is no room for two such requests beside the first one's
const SLOTS_PER_EPOCH = 32
const FIRST_SLOT = 40
/** The deposits are final, out of the queue, and in an epoch that is final itself. */
const REGISTERED_SLOT = 416
/** The deposits are final, and still in the queue. */
const FINAL_SLOT = 170
/** The devnet announces a block of this slot and replaces it by the next slot's. */
const REORG_SLOT = 420
/** The blocks of both slots are behind the final one. */
const REORG_FINAL_SLOT = REORG_SLOT + 4 * SLOTS_PER_EPOCH
const OTHER_REQUEST = expect.stringMatching(/^Param error: Idempotency-Key was used for another request/)

/** By what is asked. */
const WRONG: readonly (readonly [string, readonly WrongRequest[]])[] = [
  ['create', WRONG_CREATIONS],
  ['broadcast', WRONG_BROADCASTS],
  ['exit', WRONG_EXITS],
  ['exit/cancel', WRONG_EXITS],
]

interface Inclusion {
  readonly blockNumber: Hex
  readonly blockHash: Hex
}

export interface CreateOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
}

/** Validators are created over HTTP, a wallet signs and sends their transaction, and the chain takes them in. */
export function createSuite({ mode, modeOf }: CreateOptions): void {
  describe(`validators that are created in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-create-'))
    let devnet: DevnetChild
    let env: Environment
    let program: Running
    let token: string
    let created: Created
    /** Never funded before the reorg. */
    let others: Created

    const ask = async <Data>(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`${program.url}/ethereum/mainnet/${token}/api/v1/validator/${path}`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers,
      })
      return { status: response.status, ...((await response.json()) as Envelope<Data>) }
    }
    const create = (body: object, key?: string) =>
      ask<Created>('create', body, key === undefined ? {} : { 'idempotency-key': key })
    /** What is answered once the tables and the vault are there again. */
    const untilReady = <Answer extends { readonly status: number }>(question: () => Promise<Answer>) =>
      eventually('an answer after the start', async () => {
        const answer = await question()
        return answer.status === 503 ? undefined : answer
      })
    const details = async (pubkeys: readonly string[] = []) =>
      (await ask<readonly ValidatorDetail[]>('details', { pubkeys, limit: 1_000 })).data ?? []
    const allOf = (pubkeys: readonly string[], status: string) => async () =>
      (await details(pubkeys)).every((one) => one.status === status) ? true : undefined
    const historyOf = async (pubkey: string): Promise<readonly HistoryStep[]> => {
      const url = `${program.url}/ethereum/mainnet/${token}/api/v1/validator/history?pubkey=${pubkey}`
      const { data } = (await (await fetch(url)).json()) as Envelope<{ history: readonly HistoryStep[] }>
      return data?.history ?? []
    }
    const sign = async ({ staking_transaction: { unsigned_transaction: unsigned } }: Created): Promise<Hex> => {
      const nonce = Number(await rpc('eth_getTransactionCount', [WALLET.address, 'latest']))
      const transaction = { ...parseTransaction(unsigned as Hex), nonce }
      return WALLET.signTransaction(transaction as Parameters<typeof WALLET.signTransaction>[0])
    }
    const rpc = (method: string, params: readonly unknown[]) => askJsonRpc(devnet.executionUrl, method, params)

    beforeAll(async () => {
      devnet = await startDevnetChild()
      const file = join(directory, 'epochline.yaml')
      writeChains(file, { mainnet: { ...runChain(file, devnet), staking: { contract: BATCH_DEPOSIT_ADDRESS } } })
      env = {
        ...modeOf('create'),
        VALIDATORS_UNFUNDED_MAX: String(UNFUNDED_MAX),
        EPOCHLINE_DATA: join(directory, 'data'),
        EPOCHLINE_CONFIG: file,
      }
      token = await createToken(env, { scopes: 'read,create,exit' })
      program = await startProgram(['all'], env)
      await devnet.advanceTo(FIRST_SLOT)
      const isKnown = async () => ((await ask('details', {})).status === 200 ? true : undefined)
      await eventually('the account', isKnown)
    })

    afterAll(async () => {
      await program?.kill()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    it('come with one transaction for all of them, and with the same ones for the same Idempotency-Key', async () => {
      const body = { validator_count: COUNT, withdrawal_address: WALLET.address }
      const answer = await create(body, 'first')
      expect(answer).toMatchObject({ status: 200, code: '200', msg: 'Success' })
      created = answer.data as Created
      expect(new Set(created.validators.map(({ pubkey }) => pubkey)).size).toBe(COUNT)
      expect(created.staking_transaction).toMatchObject({
        from: WALLET.address,
        amount_wei: String(BigInt(COUNT) * 32n * 10n ** 18n),
        contract_call_data: expect.stringMatching(/^0x4f498c73/),
      })
      for (const validator of created.validators)
        expect(validator).toMatchObject({
          network: 'mainnet',
          withdrawal_address: WALLET.address,
          fee_recipient_address: WALLET.address,
          deposit_data: { amount: 32_000_000_000 },
        })
      expect((await create(body, 'first')).data).toEqual(created)
      expect(await create({ ...body, validator_count: 1 }, 'first')).toMatchObject({ status: 400, msg: OTHER_REQUEST })
    })

    it('are none of a request that is wrong, which leaves no key, job or event behind', async () => {
      const before = await leftBehind(env)
      expect([before.keys, before.requests]).toEqual([COUNT, 1])
      for (const [path, wrong] of WRONG) {
        const answers = await Promise.all(wrong.map(async ([body]) => [body, await ask(path, body)]))
        const expected = { status: 400, code: '400', data: null }
        expect(answers, path).toEqual(
          wrong.map(([body, sentence]) => [body, { ...expected, msg: `Param error: ${sentence}` }]),
        )
      }
      expect(moreThan(before, await leftBehind(env))).toEqual({ keys: 0, requests: 0, events: 0, jobs: 0 })
    })

    it('are provisioned until the chain knows them, and the same after a kill -9', async () => {
      const pubkeys = created.validators.map(({ pubkey }) => pubkey)
      const provisioned = async () => {
        const found = await details(pubkeys)
        return found.length === COUNT ? found : undefined
      }
      const before = await eventually('their rows', provisioned)
      for (const detail of before) {
        expect(detail).toMatchObject({ status: 'provisioned', deposit_from_address: WALLET.address, slashed: false })
        expect(detail.activation_epoch).toBe(String(2n ** 64n - 1n))
      }
      await program.kill()
      program = await startProgram(['all'], env)
      expect(await eventually('the same', async () => provisioned().catch(() => undefined))).toEqual(before)
      const body = { validator_count: COUNT, withdrawal_address: WALLET.address }
      expect((await create(body, 'first')).data).toEqual(created)
      others = (await create(body)).data as Created
      for (const { pubkey } of others.validators) expect(pubkeys).not.toContain(pubkey)
    })

    it('are the same for their Idempotency-Key when the queue has forgotten all jobs, and others are refused under it', async () => {
      await program.kill()
      expect(await forgetJobs(env)).toBeGreaterThan(0)
      program = await startProgram(['all'], env)
      const body = { validator_count: COUNT, withdrawal_address: WALLET.address }
      const answer = await untilReady(() => create(body, 'first'))
      expect(answer).toMatchObject({ status: 200, data: created })
      expect(await create({ ...body, validator_count: 1 }, 'first')).toMatchObject({ status: 400, msg: OTHER_REQUEST })
    })

    it('are shown with the labels that the account gives them, right after they were created', async () => {
      const [first, second] = created.validators.map(({ pubkey }) => pubkey)
      const fresh = (await create({ validator_count: 1, withdrawal_address: WALLET.address })).data as Created
      const newest = fresh.validators[0]?.pubkey
      const labels = [first, second, newest].map((pubkey, at) => ({ pubkey, label: `Kassel №${at}` }))
      expect(await ask('labels', { labels })).toMatchObject({ status: 200, data: { labelled: 3 } })
      expect(await ask('labels', { labels: [{ pubkey: second, label: '' }] })).toMatchObject({ status: 200 })
      const foreign = `0x${'ab'.repeat(48)}`
      expect(
        await ask('labels', {
          labels: [
            { pubkey: first, label: 'x' },
            { pubkey: foreign, label: 'y' },
          ],
        }),
      ).toMatchObject({
        status: 400,
        msg: `Param error: ${foreign} is no validator of the account`,
      })
      const labelled = async () => {
        const found = new Map((await details()).map(({ pubkey, label }) => [pubkey, label]))
        const shown = [first, second, newest].map((pubkey) => found.get(pubkey ?? ''))
        return shown.join() === 'Kassel №0,,Kassel №2' ? shown : undefined
      }
      await eventually('the labels', labelled)
    })

    it('are told once, however often their request is repeated', async () => {
      const body = { validator_count: COUNT, withdrawal_address: WALLET.address }
      for (let i = 0; i < 3; i++) expect((await create(body, 'first')).data).toEqual(created)
      await using eventLog = await openLog(env)
      const told = (await eventsOf(eventLog, 'accounts'))
        .filter(({ event }) => event.type === validatorsCreated.name)
        .map(({ event }) => decodeEvent(validatorsCreated, event).pubkeys[0])
      expect(told.filter((pubkey) => pubkey === created.validators[0]?.pubkey)).toHaveLength(1)
    })

    it('are in the registry once a wallet has sent their transaction, with the depositor and the credentials', async () => {
      const pubkeys = created.validators.map(({ pubkey }) => pubkey)
      const hash = await rpc('eth_sendRawTransaction', [await sign(created)])
      await devnet.advanceTo(FIRST_SLOT + 2)
      expect(await rpc('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' })
      await eventually('their deposits', allOf(pubkeys, 'deposited_not_finalized'))
      await devnet.advanceTo(FINAL_SLOT)
      await eventually('final deposits', allOf(pubkeys, 'deposited'))
      const recipients = await eventually('somebody who runs them', () => recipientsOf(devnet, pubkeys))
      expect(recipients).toEqual(pubkeys.map(() => WALLET.address.toLowerCase()))
      await devnet.advanceTo(REGISTERED_SLOT)
      const registered = async () => {
        const found = await details(pubkeys)
        return found.every(({ status }) => status !== 'deposited') ? found : undefined
      }
      for (const detail of await eventually('the registry', registered)) {
        expect(detail.status).toMatch(/^(pending|active)_/)
        expect(detail).toMatchObject({
          withdrawal_address: WALLET.address,
          withdrawal_credentials: `0x01${'00'.repeat(11)}${WALLET.address.slice(2).toLowerCase()}`,
          deposit_from_address: WALLET.address,
        })
      }
    })

    it('have a history with the slots of the chain', async () => {
      const history = await historyOf(created.validators[0]?.pubkey ?? '')
      const slots = new Map(history.map(({ step, slot }) => [step, slot ?? 0]))
      expect([...slots.keys()].slice(0, 4)).toEqual([
        'created',
        'deposited',
        'deposit_finalized',
        'pending_initialized',
      ])
      expect(slots.get('deposited')).toBe(FIRST_SLOT + 1)
      expect(slots.get('deposit_finalized')).toBe(4 * SLOTS_PER_EPOCH)
      // Deposits leave the queue in the transition that makes their slot final, which the devnet is never late with.
      expect(slots.get('pending_initialized')).toBe(4 * SLOTS_PER_EPOCH)
    })

    it('are no more than may wait for their deposits, and of two requests for the last places one is refused', async () => {
      const body = { validator_count: AT_ONCE, withdrawal_address: WALLET.address }
      const answers = await Promise.all([create(body, 'one'), create(body, 'other')])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
      const waiting = COUNT + 1 + AT_ONCE // those of the first request are funded
      const sentence = `Param error: ${waiting} validators of the account wait for their deposits and at most ${UNFUNDED_MAX} may, so ${AT_ONCE} more cannot be created: fund them, or wait until they expire`
      expect(answers.find(({ status }) => status === 400)?.msg).toBe(sentence)
      expect((await create(body, 'third')).msg).toBe(sentence)
      await using eventLog = await openLog(env)
      const slots = (await eventsOf(eventLog, 'accounts'))
        .filter(({ event }) => event.type === validatorsCreated.name)
        .map(({ event }) => decodeEvent(validatorsCreated, event).createdAtSlot)
      expect(slots.length).toBe(4)
      for (const slot of slots) expect(slot).toBeGreaterThanOrEqual(FIRST_SLOT)
      expect(slots.at(-1)).toBeGreaterThanOrEqual(REGISTERED_SLOT)
    })

    it('follow a broadcast that a reorg takes back to the block that has it afterwards, which is its end', async () => {
      const [pubkey = ''] = others.validators.map((one) => one.pubkey)
      await devnet.advanceTo(REORG_SLOT - 1)
      expect((await historyOf(pubkey)).map(({ step }) => step)).toEqual(['created'])
      const raw = await sign(others)
      const broadcast = () => ask<{ readonly tx_hash: Hex }>('broadcast', { signed_transaction: raw })
      const sent = { status: 200, data: { tx_hash: keccak256(raw) } }
      expect(await broadcast()).toMatchObject(sent)
      const blockOf = async () => (await rpc('eth_getTransactionReceipt', [keccak256(raw)])) as Inclusion
      const depositedIn = (slot: number) => async () => {
        const deposited = (await historyOf(pubkey)).find(({ step }) => step === 'deposited')
        return deposited?.slot === slot ? true : undefined
      }
      await devnet.advanceTo(REORG_SLOT)
      await eventually('a deposit in the block', depositedIn(REORG_SLOT))
      const orphan = await blockOf()
      await devnet.advanceTo(REORG_SLOT + 1)
      await eventually('a deposit in the block that replaces it', depositedIn(REORG_SLOT + 1))
      expect(await allOf([pubkey], 'deposited_not_finalized')()).toBe(true)
      expect(await broadcast()).toMatchObject(sent)
      expect(await endsOf(env, keccak256(raw))).toEqual([])
      const { blockNumber, blockHash } = await blockOf()
      expect(blockHash).not.toBe(orphan.blockHash)
      await devnet.advanceTo(REORG_FINAL_SLOT)
      await eventually('a final deposit', allOf([pubkey], 'deposited'))
      const ends = async () => ((await endsOf(env, keccak256(raw))).length > 0 ? true : undefined)
      await eventually('its end', ends)
      const mined = { status: 'mined', blockNumber: Number(blockNumber) }
      expect(await endsOf(env, keccak256(raw))).toMatchObject([mined])
      const steps = (await historyOf(pubkey)).filter(({ step }) => step === 'broadcast' || step === 'deposited')
      // What was sent has the time of this machine, which is not this chain's.
      expect(new Map(steps.map(({ step, transaction_hash }) => [step, transaction_hash]))).toEqual(
        new Map([
          ['broadcast', keccak256(raw)],
          ['deposited', keccak256(raw)],
        ]),
      )
      expect(steps).toHaveLength(2)
    })

    it('are named where the vault has lost them, and no others are made for their request', async () => {
      await program.kill()
      renameSync(join(env.EPOCHLINE_DATA as string, 'vault'), join(directory, 'lost'))
      program = await startProgram(['all'], { ...env, LOG_LEVEL: 'error' })
      const body = { validator_count: COUNT, withdrawal_address: WALLET.address }
      const answer = await untilReady(() => create(body, 'first'))
      expect(answer).toMatchObject({
        status: 400,
        msg: expect.stringMatching(/no longer in the key vault: do not fund them/),
      })
      expect(program.output()).toContain(created.validators[0]?.pubkey)
      expect(program.output()).toMatch(/the key vault lacks the keys of \d+ validators/)
      expect((await create(body, 'second')).status).toBe(200)
    })

    it('are not made for a staking contract that is none', async () => {
      const file = env.EPOCHLINE_CONFIG as string
      writeChains(file, { mainnet: { ...ethereumChain(devnet), staking: { contract: WALLET.address } } })
      const body = { validator_count: 1, withdrawal_address: WALLET.address }
      const isRefused = async () => ((await create(body)).status === 503 ? true : undefined)
      await eventually('the new configuration', isRefused)
      expect(program.output()).toContain('there is no contract at the address of the staking contract')
    })
  })
}

interface Envelope<Data> {
  readonly code: string
  readonly msg: string
  readonly data?: Data
}

/** How a staking transaction has ended, as the log tells it. */
async function endsOf(env: Environment, txHash: Hex) {
  await using eventLog = await openLog(env)
  return (await eventsOf(eventLog, 'accounts'))
    .filter(({ event }) => event.type === stakingEnded.name)
    .map(({ event }) => decodeEvent(stakingEnded, event))
    .filter((end) => end.txHash === txHash)
}
