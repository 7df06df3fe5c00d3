import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeFunctionData, type Hex, keccak256, parseAbi, parseTransaction } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Budget } from '../../api/gateway/quotas.ts'
import { readConfig } from '../../infra/config/config.ts'
import { BATCH_DEPOSIT_ADDRESS, DEPOSIT_CONTRACT_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { openCounters } from '../../infra/open-ports.ts'
import { depositDataRoot } from '../../schemas/eth/deposit-data.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import { keysAssigned, keysTaken } from '../../schemas/events/vault-keys.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import { askJsonRpc } from '../ask-json-rpc.ts'
import { STRANGER, WALLET } from '../wallets.ts'
import { createToken } from './account.ts'
import { PLANS, runChain, writeChains } from './configuration.ts'
import { type HoldingNode, openHoldingNode } from './holding-node.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  STEP_TIMEOUT_MS,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { activationEpochOf, recipientsOf, voteRewardsOf } from './run-keys.ts'
import { eventsOf, openLog } from './stores.ts'

const GWEI = 10n ** 9n
const FIRST_SLOT = 40
/** What is broadcast before it is final at it. */
const FINAL_SLOT = 180
/** All deposits are out of the queue, in an epoch that is final. */
const REGISTERED_SLOT = 420
const SLOTS_PER_EPOCH = 32
const PARALLEL = 50
/** An account whose days have an end, and its calls of one. */
const CALLER = 'caller'
const CALLS_PER_DAY = 1_000

export interface BroadcastOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
  /** Whether a second process serves the API. */
  readonly twoProcesses: boolean
}

interface Envelope<Data> {
  readonly status: number
  readonly code: string
  readonly msg: string
  readonly data?: Data
  readonly reason?: string
}

/** Validators are created, their transactions signed by a wallet and broadcast over HTTP, until the chain has them. */
export function broadcastSuite({ mode, modeOf, twoProcesses }: BroadcastOptions): void {
  describe(`staking transactions that are broadcast in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-broadcast-'))
    let devnet: DevnetChild
    let node: HoldingNode
    let env: Environment
    let programs: Running[] = []
    let token: string
    /** The one whose mined transaction the others are compared with. */
    let mined: { readonly created: Created; readonly raw: Hex }

    const ask = async <Data>(path: string, body: object, process = 0): Promise<Envelope<Data>> => {
      const { url } = programs[process % programs.length] as Running
      const response = await fetch(`${url}/ethereum/mainnet/${token}/api/v1/validator/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      })
      return { status: response.status, ...((await response.json()) as Omit<Envelope<Data>, 'status'>) }
    }
    const create = async (count: number): Promise<Created> => {
      const { data, msg } = await ask<Created>('create', { validator_count: count, withdrawal_address: WALLET.address })
      if (data === undefined || data === null) throw new Error(msg)
      return data
    }
    const broadcast = (raw: string, process = 0) =>
      ask<{ readonly tx_hash: string }>('broadcast', { signed_transaction: raw }, process)
    const nextNonce = async (): Promise<number> =>
      Number(await rpc('eth_getTransactionCount', [WALLET.address, 'pending']))
    const sign = async ({ staking_transaction: staking }: Created, nonce: number, tipGwei = 1n): Promise<Hex> => {
      const unsigned = parseTransaction(staking.unsigned_transaction as Hex)
      const fees = { maxFeePerGas: (100n + 10n * tipGwei) * GWEI, maxPriorityFeePerGas: tipGwei * GWEI }
      return WALLET.signTransaction({ ...unsigned, nonce, ...fees } as Parameters<typeof WALLET.signTransaction>[0])
    }
    const rpc = (method: string, params: readonly unknown[]) => askJsonRpc(devnet.executionUrl, method, params)
    const headNumber = async () => Number(await rpc('eth_blockNumber', []))
    const told = async () => {
      await using eventLog = await openLog(env)
      const events = (await eventsOf(eventLog, 'accounts')).map(({ event }) => event)
      return {
        sent: events
          .filter(({ type }) => type === stakingBroadcast.name)
          .map((event) => decodeEvent(stakingBroadcast, event)),
        ended: events.filter(({ type }) => type === stakingEnded.name).map((event) => decodeEvent(stakingEnded, event)),
      }
    }
    const start = async (): Promise<void> => {
      programs = [await startProgram(['all'], env)]
      if (twoProcesses) programs.push(await startProgram(['api'], env))
      const isKnown = async () => ((await ask('details', {})).status === 200 ? true : undefined)
      await eventually('the account', async () => isKnown().catch(() => undefined))
    }
    const stop = async (): Promise<void> => {
      for (const program of programs) await program.kill()
    }
    /** The role may be about to get its lease. */
    const untilServed = <Data>(act: () => Promise<Envelope<Data>>) =>
      eventually('the role', async () => {
        const answer = await act()
        return answer.status >= 500 ? undefined : answer
      })

    beforeAll(async () => {
      devnet = await startDevnetChild()
      node = await openHoldingNode(() => devnet.executionUrl)
      const file = join(directory, 'epochline.yaml')
      const chain = runChain(file, { ...devnet, executionUrl: node.url })
      const plans = { ...PLANS, limited: { requests_per_day: CALLS_PER_DAY, accounts: [CALLER] } }
      writeChains(file, { mainnet: { ...chain, staking: { contract: BATCH_DEPOSIT_ADDRESS } } }, { plans })
      env = { ...modeOf('broadcast'), EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: file }
      token = await createToken(env, { scopes: 'read,create' })
      await devnet.advanceTo(FIRST_SLOT)
      await start()
    })

    afterAll(async () => {
      await stop()
      await node?.[Symbol.asyncDispose]()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    it(`are one of ${PARALLEL} that come at once with two nonces, and it is mined`, async () => {
      const created = await create(3)
      const nonce = await nextNonce()
      const raws = await Promise.all([sign(created, nonce), sign(created, nonce + 1)])
      const answers = await Promise.all(
        Array.from({ length: PARALLEL }, async (_, i) => {
          const raw = raws[i % 2] as Hex
          return { raw, answer: await broadcast(raw, i >> 1) }
        }),
      )
      // The second one is taken for one that would wait for others until the first is known, and then for its rival.
      const [raw] = raws as [Hex, Hex]
      const refusals = [
        /^pending_transaction Param error: 0x[0-9a-f]{64} is pending for 0x/,
        /^nonce_too_high Param error: the sender's next transaction has nonce /,
      ]
      for (const { raw: own, answer } of answers) {
        if (own === raw) expect(answer).toMatchObject({ status: 200, data: { tx_hash: keccak256(raw) } })
        else {
          const { status, reason, msg } = answer
          expect([status, refusals.some((one) => one.test(`${reason} ${msg}`))], `${reason} ${msg}`).toEqual([
            400,
            true,
          ])
        }
      }
      expect((await told()).sent.map(({ txHash }) => txHash)).toEqual([keccak256(raw)])
      await devnet.advanceTo(FIRST_SLOT + 3)
      expect(await rpc('eth_getTransactionReceipt', [keccak256(raw)])).toMatchObject({ status: '0x1' })
      mined = { created, raw }
      const recipients = await recipientsOf(devnet, keysOf(created))
      expect(recipients).toEqual(created.validators.map(() => WALLET.address.toLowerCase()))
      expect(await broadcast(raw)).toMatchObject({ status: 200, data: { tx_hash: keccak256(raw) } })
    })

    it('are replaced by one of the same nonce, and of the two that is mined which pays more', async () => {
      const created = await create(1)
      const nonce = await nextNonce()
      const [first, other, higher] = [
        await sign(created, nonce),
        await sign(created, nonce + 1),
        await sign(created, nonce, 20n),
      ] as const
      expect(await broadcast(first)).toMatchObject({ status: 200 })
      expect(await broadcast(other)).toMatchObject({ status: 400, reason: 'pending_transaction' })
      const second = await create(1)
      expect(await broadcast(await sign(second, nonce, 50n))).toMatchObject({ status: 400, reason: 'other_validators' })
      expect(await broadcast(higher)).toMatchObject({ status: 200, data: { tx_hash: keccak256(higher) } })
      await devnet.advanceTo(FIRST_SLOT + 6)
      expect(await rpc('eth_getTransactionReceipt', [keccak256(first)])).toBeNull()
      expect(await rpc('eth_getTransactionReceipt', [keccak256(higher)])).toMatchObject({ status: '0x1' })
    })

    it("are not stopped by a stranger's deposit for their validator", async () => {
      const created = await create(1)
      await rpc('eth_sendRawTransaction', [await strangersDeposit(created)])
      await devnet.advanceTo(FIRST_SLOT + 9)
      const raw = await sign(created, await nextNonce())
      expect(await broadcast(raw)).toMatchObject({ status: 200 })
      await devnet.advanceTo(FIRST_SLOT + 12)
      expect(await rpc('eth_getTransactionReceipt', [keccak256(raw)])).toMatchObject({ status: '0x1' })
    })

    async function strangersDeposit({ validators }: Created): Promise<Hex> {
      const [{ pubkey }] = validators as [Created['validators'][number]]
      const credentials: Hex = `0x01${'00'.repeat(11)}${STRANGER.address.slice(2).toLowerCase()}`
      const message = { pubkey: bytesOf(pubkey), withdrawalCredentials: bytesOf(credentials), amountGwei: GWEI }
      const signature = new Uint8Array(96).fill(7)
      const root = hexOf(depositDataRoot(message, signature))
      const abi = parseAbi(['function deposit(bytes,bytes,bytes,bytes32)'])
      const args = [pubkey as Hex, credentials, hexOf(signature), root] as const
      return STRANGER.signTransaction({
        ...{ type: 'eip1559', to: DEPOSIT_CONTRACT_ADDRESS, value: 10n ** 18n, gas: 300_000n },
        ...{ maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI },
        chainId: Number(await rpc('eth_chainId', [])),
        nonce: Number(await rpc('eth_getTransactionCount', [STRANGER.address, 'pending'])),
        data: encodeFunctionData({ abi, functionName: 'deposit', args }),
      })
    }

    it('are sent after a kill -9 between the log and the node, without anybody asking again', async () => {
      const created = await create(2)
      const raw = await sign(created, await nextNonce())
      const held = node.hold('eth_sendRawTransaction')
      const asked = broadcast(raw).catch(() => undefined)
      await held
      await stop()
      await asked
      expect((await told()).sent.map(({ txHash }) => txHash)).toContain(keccak256(raw))
      expect(await rpc('eth_getTransactionByHash', [keccak256(raw)])).toBeNull()
      node.passOn()
      await start()
      const isThere = async () => (await rpc('eth_getTransactionByHash', [keccak256(raw)])) ?? undefined
      await eventually('the transaction', isThere)
      await devnet.advanceTo(FIRST_SLOT + 16)
      expect(await rpc('eth_getTransactionReceipt', [keccak256(raw)])).toMatchObject({ status: '0x1' })
      const again = await untilServed(() => broadcast(raw))
      expect(again).toMatchObject({ status: 200, data: { tx_hash: keccak256(raw) } })
    })

    it('are not sent where nothing can be, and can be broadcast again', async () => {
      const created = await create(1)
      const raw = await sign(created, await nextNonce())
      node.hold('eth_sendRawTransaction')
      expect(await broadcast(raw)).toMatchObject({ status: 500, code: '500' })
      const { ended } = await told()
      expect(ended.find(({ txHash }) => txHash === keccak256(raw))).toMatchObject({ status: 'unsent' })
      node.passOn()
      expect(await broadcast(raw)).toMatchObject({ status: 200, data: { tx_hash: keccak256(raw) } })
      await devnet.advanceTo(FIRST_SLOT + 20)
      expect(await rpc('eth_getTransactionReceipt', [keccak256(raw)])).toMatchObject({ status: '0x1' })
    })

    it.runIf(twoProcesses)('are calls as others, of which usage has what the quota has counted', async () => {
      const config = readConfig(env)
      const key = await createToken(env, { account: CALLER })
      let passed = 0
      const call = async ({ url }: Running): Promise<true | undefined> => {
        const response = await fetch(`${url}/ethereum/mainnet/${key}/api/v1/validator/details`, { method: 'POST' })
        await response.text()
        if (response.status !== 200) return undefined
        passed++
        return true
      }
      for (const program of programs) {
        await eventually('the key', () => call(program))
        for (let i = 0; i < 3; i++) expect(await call(program)).toBe(true)
      }
      await using counters = await openCounters(config)
      const counted = async (): Promise<number> => {
        const { key: day, limit } = new Budget(CALLER, CALLS_PER_DAY, Date.now())
        return limit - (await counters.take(day, 0, limit, STEP_TIMEOUT_MS, Date.now())).remaining
      }
      // Beside them it has what processes lease, until they return it.
      await expect.poll(counted, { timeout: STEP_TIMEOUT_MS }).toBe(passed)
      const billed = async () => {
        const { stdout, stderr } = await runCommand(['admin', 'usage', '--account', CALLER, '--json'], env)
        expect(stderr).toBe('')
        const rows = JSON.parse(stdout) as readonly { readonly blockchain: string; readonly billed: number }[]
        return rows.map(({ blockchain, billed: units }) => [blockchain, units])
      }
      await expect.poll(billed, { timeout: STEP_TIMEOUT_MS }).toEqual([['ethereum/mainnet', passed]])
    })

    it('end with the final block that they are in, and their validators are deposited once for ever', async () => {
      await devnet.advanceTo(FINAL_SLOT)
      const all = async () => {
        const { sent, ended } = await told()
        return ended.length >= sent.length ? { sent, ended } : undefined
      }
      const { sent, ended } = await eventually('their ends', all)
      for (const { txHash } of sent) {
        const receipt = (await rpc('eth_getTransactionReceipt', [txHash])) as { blockNumber: Hex } | null
        const last = ended.findLast((one) => one.txHash === txHash)
        if (receipt === null) expect(last).toMatchObject({ status: 'replaced' })
        else expect(last).toMatchObject({ status: 'mined', blockNumber: Number(receipt.blockNumber) })
      }
      expect(ended.map(({ status }) => status).toSorted()).toEqual([
        ...['mined', 'mined', 'mined', 'mined', 'mined'],
        ...['replaced', 'unsent'],
      ])
      const { created, raw } = mined
      expect(await broadcast(raw)).toMatchObject({ status: 200, data: { tx_hash: keccak256(raw) } })
      const second = await broadcast(await sign(created, await nextNonce()))
      expect(second).toMatchObject({ status: 400, reason: 'already_deposited' })
      expect(await headNumber()).toBeLessThan(REGISTERED_SLOT)
    })

    it('have made validators when the chain has taken them in', async () => {
      await devnet.advanceTo(REGISTERED_SLOT)
      const pubkeys = keysOf(mined.created)
      const registered = async () => {
        const { data = [] } = await ask<readonly ValidatorDetail[]>('details', { pubkeys })
        return data.length === pubkeys.length && data.every(({ status }) => /^(pending|active)_/.test(status))
          ? data
          : undefined
      }
      await eventually('the registry', registered)
    })

    it('perform the duties of their validators, whose keys one client has, without anything else', async () => {
      const pubkeys = keysOf(mined.created)
      const epochs = await Promise.all(pubkeys.map((pubkey) => activationEpochOf(devnet, pubkey)))
      const epoch = Math.max(...epochs) + 1
      await devnet.advanceTo((epoch + 2) * SLOTS_PER_EPOCH)
      for (const reward of await voteRewardsOf(devnet, epoch, pubkeys)) expect(reward).toBeGreaterThan(0)
      await using eventLog = await openLog(env)
      const events = (await eventsOf(eventLog, 'accounts')).map(({ event }) => event)
      const pubkeysOf = (type: typeof keysAssigned | typeof keysTaken) =>
        events.filter(({ type: name }) => name === type.name).flatMap((event) => decodeEvent(type, event).pubkeys)
      const assigned = pubkeysOf(keysAssigned)
      expect(new Set(assigned).size).toBe(assigned.length)
      expect(pubkeysOf(keysTaken).toSorted()).toEqual(assigned.toSorted())
      const deposited = (await told()).sent.flatMap(({ pubkeys }) => pubkeys)
      for (const pubkey of deposited) expect(assigned).toContain(pubkey)
    })
  })
}

function keysOf({ validators }: Created): readonly string[] {
  return validators.map(({ pubkey }) => pubkey)
}
