import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hex, parseTransaction } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BATCH_DEPOSIT_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { FAR_FUTURE_EPOCH_TEXT } from '../../schemas/eth/far-future.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned, exitSubmitted } from '../../schemas/events/exits.ts'
import { exitsPresigned } from '../../schemas/events/presigned-exits.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import { askJsonRpc } from '../ask-json-rpc.ts'
import { type FaultyNode, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { tries } from '../long-form.ts'
import { openJwe, type PrivateJwk } from '../unit/open-jwe.ts'
import { WALLET } from '../wallets.ts'
import { createToken } from './account.ts'
import { ethereumChain, writeChains } from './configuration.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  startDevnetChild,
  startProgram,
} from './processes.ts'
import { eventsOf, openLog } from './stores.ts'

const COUNT = 2
const FIRST_SLOT = 40
/** The deposits are in the registry, and no validator of them is active. */
const REGISTERED_SLOT = 420
const SLOTS_PER_EPOCH = 32
/** Of the devnet: epochs that a validator is active before it may exit, of which each costs the program two seconds of a core. */
const SHARD_COMMITTEE_PERIOD = 8
const PERIODS = { shardCommitteePeriodEpochs: SHARD_COMMITTEE_PERIOD }
const FORGOTTEN_EPOCHS = tries(16, 50)
const EXITS_PATH = '/eth/v1/beacon/pool/voluntary_exits'

export interface ExitOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
}

/** A validator is created, funded, let exit while its node's pool forgets it, and leaves all the same. */
export function exitSuite({ mode, modeOf }: ExitOptions): void {
  describe(`validators that exit in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-exit-'))
    let devnet: DevnetChild
    let truth: TrueNode
    let node: FaultyNode
    let isForgetful = false
    /** What was handed to the node, in its order. */
    const handed: string[] = []
    let env: Environment
    let program: Running
    let token: string
    let leaving: string
    let staying: string

    const ask = async <Data>(path: string, body: object) => {
      const response = await fetch(`${program.url}/ethereum/mainnet/${token}/api/v1/validator/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      })
      return { status: response.status, ...((await response.json()) as Envelope<Data>) }
    }
    const detailOf = async (pubkey: string) =>
      (await ask<readonly ValidatorDetail[]>('details', { pubkeys: [pubkey] })).data?.[0]
    const exit = (pubkeys: readonly string[]) => ask('exit', { pubkeys })
    const flagsAre = (pubkey: string, flags: Partial<ValidatorDetail>) =>
      eventually(`${JSON.stringify(flags)} of ${pubkey}`, async () => {
        const detail = await detailOf(pubkey).catch(() => undefined)
        const isSo = Object.entries(flags).every(([name, value]) => detail?.[name as keyof ValidatorDetail] === value)
        return isSo ? detail : undefined
      })
    const events = async () => {
      await using eventLog = await openLog(env)
      return (await eventsOf(eventLog, 'accounts')).map(({ event }) => event)
    }
    const customer = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const presign = (...pubkeys: readonly string[]) => {
      const recipient = join(directory, 'customer.pem')
      writeFileSync(recipient, customer.publicKey.export({ format: 'pem', type: 'spki' }))
      const to = ['--to', join(directory, 'exits')]
      return runCommand(
        ['keys', 'presign-exits', '--validator', ...pubkeys, '--account', 'acme', '--recipient', recipient, ...to],
        env,
      )
    }
    /** What the customer opens. */
    const presigned = async (pubkey: string) => {
      const key = customer.privateKey.export({ format: 'jwk' }) as unknown as PrivateJwk
      return (await openJwe(readFileSync(join(directory, 'exits', `exit-${pubkey}.jwe`), 'utf8'), key)).text
    }
    const startAgain = async () => {
      await program.kill()
      program = await startProgram(['all'], env)
    }

    beforeAll(async () => {
      devnet = await startDevnetChild(PERIODS)
      truth = new TrueNode(devnet.beaconUrl)
      node = await openFaultyNode(truth, [
        {
          of: ({ method, path, body }) => {
            if (method !== 'POST' || path !== EXITS_PATH) return false
            handed.push(body)
            return isForgetful
          },
          reply: () => ({ status: 200, headers: {}, body: new Uint8Array() }),
        },
      ])
      const file = join(directory, 'epochline.yaml')
      const chain = ethereumChain({ beaconUrl: node.url, executionUrl: devnet.executionUrl })
      writeChains(file, { mainnet: { ...chain, staking: { contract: BATCH_DEPOSIT_ADDRESS } } })
      env = { ...modeOf('exit'), EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: file }
      token = await createToken(env, { scopes: 'read,create,exit' })
      program = await startProgram(['all'], env)
      await devnet.advanceTo(FIRST_SLOT)
      const isKnown = async () => ((await ask('details', {})).status === 200 ? true : undefined)
      await eventually('the account', isKnown)
      const answer = await ask<Created>('create', { validator_count: COUNT, withdrawal_address: WALLET.address })
      const created = answer.data as Created
      ;[leaving, staying] = created.validators.map(({ pubkey }) => pubkey) as [string, string]
      expect(await exit([leaving])).toMatchObject({ status: 400, reason: 'not_deposited' })
      const transaction = parseTransaction(created.staking_transaction.unsigned_transaction as Hex)
      const signed = await WALLET.signTransaction(transaction as Parameters<typeof WALLET.signTransaction>[0])
      await askJsonRpc(devnet.executionUrl, 'eth_sendRawTransaction', [signed])
      await devnet.advanceTo(REGISTERED_SLOT)
      await eventually('the registry', async () =>
        (await detailOf(leaving))?.status.startsWith('pending_') === true ? true : undefined,
      )
    })

    afterAll(async () => {
      await program?.kill()
      await node?.[Symbol.asyncDispose]()
      await truth?.[Symbol.asyncDispose]()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    it('are scheduled while they are too young, all or none, and may stay after all', async () => {
      expect(await exit([leaving, `0x${'ab'.repeat(48)}`])).toMatchObject({ status: 400, reason: 'unknown_validator' })
      expect((await detailOf(leaving))?.is_need_exit).toBe(false)
      expect(await exit([leaving, staying.toUpperCase().slice(2), leaving])).toEqual({
        status: 200,
        code: '200',
        msg: 'Success',
      })
      await flagsAre(staying, { is_need_exit: true, is_post_exit: false })
      expect(await ask('exit/cancel', { pubkeys: [staying] })).toMatchObject({ status: 200 })
      expect(await ask('exit/cancel', { pubkeys: [staying] })).toMatchObject({ status: 200 })
      await flagsAre(staying, { is_need_exit: false, is_post_exit: false })
      await startAgain()
      expect((await exit([leaving])).status).toBe(200)
      await flagsAre(leaving, { is_need_exit: true, is_post_exit: false })
      expect(handed).toEqual([])
    })

    it('are handed to the node with the epoch from which they may leave, and can no longer be cancelled', async () => {
      isForgetful = true
      const { activation_epoch: activation } = await activated(leaving)
      const ripe = Number(activation) + SHARD_COMMITTEE_PERIOD
      const { code, stdout, stderr } = await presign(leaving, staying)
      expect(code, stderr).toBe(0)
      expect(stdout).toContain(`${leaving}  validator `)
      expect(stdout).toMatch(new RegExp(`may exit from epoch ${ripe} on\n`))
      await devnet.advanceTo(ripe * SLOTS_PER_EPOCH - 1)
      expect(handed).toEqual([])
      await devnet.advanceTo((ripe + 1) * SLOTS_PER_EPOCH)
      await flagsAre(leaving, { is_need_exit: false, is_post_exit: true, exit_epoch: FAR_FUTURE_EPOCH_TEXT })
      expect(JSON.parse(handed[0] as string).message.epoch).toBe(String(ripe))
      expect(await presigned(leaving)).toBe(handed[0])
      expect(await ask('exit/cancel', { pubkeys: [leaving] })).toMatchObject({
        status: 400,
        reason: 'exit_already_signed',
      })
      await startAgain()
    })

    it(`are on chain in the end, where the pool has forgotten them for ${FORGOTTEN_EPOCHS} epochs`, async () => {
      const { slot } = await headOf(devnet)
      for (let epochs = 0; epochs < FORGOTTEN_EPOCHS; epochs++)
        await devnet.advanceTo(slot + (epochs + 1) * SLOTS_PER_EPOCH)
      expect(await detailOf(leaving)).toMatchObject({ status: 'active_ongoing', exit_epoch: FAR_FUTURE_EPOCH_TEXT })
      isForgetful = false
      const forgotten = handed.length
      const isHanded = async () => {
        const head = await headOf(devnet)
        await devnet.advanceTo(head.slot + SLOTS_PER_EPOCH)
        return handed.length > forgotten ? true : undefined
      }
      await eventually('another try', isHanded)
      await devnet.advanceTo((await headOf(devnet)).slot + 5 * SLOTS_PER_EPOCH)
      const ended = async () => {
        const end = (await events()).find(({ type }) => type === exitEnded.name)
        return end && decodeEvent(exitEnded, end)
      }
      const { pubkey, end } = await eventually('the end of the exit', ended)
      expect(pubkey).toBe(leaving)
      const { exit_epoch: exitEpoch } =
        (await flagsAre(leaving, { is_post_exit: true, status: 'active_exiting' })) ?? {}
      expect(end).toEqual({ status: 'on_chain', exitEpoch: Number(exitEpoch) })
      expect(forgotten).toBeGreaterThan(FORGOTTEN_EPOCHS / 8)
      expect(new Set(handed).size).toBe(1)
      expect((await detailOf(staying))?.exit_epoch).toBe(FAR_FUTURE_EPOCH_TEXT)
    })

    it('are told once, and to ask again for what is done is success', async () => {
      expect(await exit([leaving])).toMatchObject({ status: 200 })
      const told = Map.groupBy(await events(), ({ type }) => type)
      const counts = [exitRequested, exitCancelled, exitSigned, exitSubmitted, exitEnded].map(
        ({ name }) => told.get(name)?.length,
      )
      expect(counts).toEqual([1, 1, 1, 1, 1])
    })

    it('leave by what was signed beforehand as well, of which nobody but the customer has the signature', async () => {
      const body = await presigned(staying)
      const { signature } = JSON.parse(body) as { signature: string }
      expect(program.output()).not.toContain(signature)
      expect(JSON.stringify((await events()).map(({ data }) => Buffer.from(data).toString()))).not.toContain(signature)
      const told = (await events()).filter(({ type }) => type === exitsPresigned.name)
      expect(told.map((event) => decodeEvent(exitsPresigned, event).pubkeys)).toEqual([[leaving, staying]])
      const headers = { 'content-type': 'application/json' }
      const taken = await fetch(`${devnet.beaconUrl}${EXITS_PATH}`, { method: 'POST', headers, body })
      expect(taken.status, await taken.text()).toBe(200)
      await devnet.advanceTo((await headOf(devnet)).slot + 5 * SLOTS_PER_EPOCH)
      await flagsAre(staying, { status: 'active_exiting', is_need_exit: false, is_post_exit: true })
      const shown = await runCommand(['admin', 'account', 'show', 'acme'], env)
      expect(shown.stdout).toMatch(/a signed exit was handed out .*, encrypted to [\w-]{43}/)
    })

    /** The validator with its activation epoch, when that is final. */
    async function activated(pubkey: string): Promise<ValidatorDetail> {
      for (;;) {
        const { slot } = await headOf(devnet)
        await devnet.advanceTo(slot + SLOTS_PER_EPOCH)
        const detail = await detailOf(pubkey)
        if (detail !== undefined && detail.activation_epoch !== FAR_FUTURE_EPOCH_TEXT) return detail
        if (slot > 2 * REGISTERED_SLOT) throw new Error('the validator is not activated')
      }
    }
  })
}

async function headOf({ beaconUrl }: DevnetChild): Promise<{ readonly slot: number }> {
  const response = await fetch(`${beaconUrl}/eth/v1/beacon/headers/head`)
  const { data } = (await response.json()) as { data: { header: { message: { slot: string } } } }
  return { slot: Number(data.header.message.slot) }
}

interface Envelope<Data> {
  readonly code: string
  readonly msg: string
  readonly reason?: string
  readonly data?: Data
}
