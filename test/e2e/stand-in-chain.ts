import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { depositDataFor, GENESIS_FORK_VERSION } from '../../infra/devnet/consensus/deposits.ts'
import { DEPOSIT_CONTRACT_ADDRESS, DEVNET_CHAIN_ID } from '../../infra/devnet/execution/genesis.ts'
import { type DevnetExecution, openExecutionEngine } from '../../infra/devnet/execution/open.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { EXIT_FACTS, TestExitChain } from '../unit/exit-chain.ts'
import { headEvent, headerJson } from '../unit/synthetic-beacon.ts'

const SLOTS_PER_EPOCH = 4
const SECONDS_PER_SLOT = 1
/** Of this machine: faster than the chain's own time. */
const SLOT_MS = 250
/** Who is active from the beginning may leave. */
const FIRST_EPOCH = 40
/** Of validators that may not leave as long as anybody waits. */
const NEVER_EPOCH = 1_000_000
/** In one epoch of so many the pool forgets the exits that it has accepted. */
const FORGETS_EVERY_EPOCHS = 3
const FAR_FUTURE_EPOCH = String(2n ** 64n - 1n)
const ZERO_HASH = `0x${'00'.repeat(32)}` as const
const KEYMANAGER_TOKEN = 'stand-in'
const OWNER = `0x${'00'.repeat(19)}ad` as const

/**
 * A chain that only does what becomes of validators of ours, at a pace of seconds: the devnet's own execution layer, with its contracts,
 * behind a Beacon API of a few routes that takes a deposit into the registry at once, and exits as the specification says; and a
 * validator client of two routes, which runs nothing.
 */
export interface StandInChain extends AsyncDisposable {
  readonly beaconUrl: string
  readonly executionUrl: string
  /** Public key of every deposit that the contract has taken, in their order: twice where it has taken two. */
  readonly deposits: readonly string[]
  readonly exits: TestExitChain
  readonly keymanager: { readonly url: string; readonly token: string }
  /** Where blocks pay, by the public keys that the validator client has; undefined until it is told. */
  readonly run: ReadonlyMap<string, string | undefined>
  /** Rejects when the chain cannot go on. */
  readonly ended: Promise<void>
}

/** Whether a validator may not leave for as long as anybody waits. */
export function isYoung(pubkey: string): boolean {
  return Number.parseInt(pubkey.slice(-1), 16) % 2 === 1
}

export async function openStandInChain(): Promise<StandInChain> {
  const genesisTimeSec = Math.floor(Date.now() / 1_000) - FIRST_EPOCH * SLOTS_PER_EPOCH * SECONDS_PER_SLOT
  await using opening = new AsyncDisposableStack()
  const engine = opening.use(
    await openExecutionEngine({
      seed: 'stand-in',
      genesisTimeSec,
      depositsFor: depositDataFor,
      deposits: [],
      finality: { kind: 'tags', finalizedBlocks: 2 * SLOTS_PER_EPOCH, safeBlocks: SLOTS_PER_EPOCH },
    }),
  )
  const chain = new Chain(engine, genesisTimeSec)
  const stop = new AbortController()
  const ended = Promise.race([chain.goOn(stop.signal), chain.failed])
  ended.catch(() => {}) // whoever waits for it hears of it
  opening.defer(async () => {
    stop.abort()
    await ended.catch(() => {})
  })
  const server = createServer((request, response) => {
    chain.serve(request, response).catch((error: unknown) => chain.fail(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opening.defer(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const all = opening.move()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    beaconUrl: url,
    keymanager: { url, token: KEYMANAGER_TOKEN },
    run: chain.run,
    executionUrl: engine.url,
    deposits: chain.deposits,
    exits: chain.exits,
    ended,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

class Chain {
  readonly deposits: string[] = []
  readonly exits = new TestExitChain()
  readonly run = new Map<string, string | undefined>()
  /** By public key, as first deposited. */
  readonly #credentials = new Map<string, string>()
  readonly #engine: DevnetExecution
  readonly #genesisTimeSec: number
  readonly #listeners = new Set<ServerResponse>()
  readonly #failed = Promise.withResolvers<never>()
  #slot = FIRST_EPOCH * SLOTS_PER_EPOCH

  constructor(engine: DevnetExecution, genesisTimeSec: number) {
    this.#engine = engine
    this.#genesisTimeSec = genesisTimeSec
    this.exits.epoch = FIRST_EPOCH
  }

  get failed(): Promise<never> {
    return this.#failed.promise
  }

  fail(error: unknown): void {
    this.#failed.reject(error)
  }

  async goOn(signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await delay(SLOT_MS)) {
      await this.#produce()
      for (const listener of this.#listeners) listener.write(headEvent(this.#slot, rootOf(this.#slot)))
    }
  }

  async #produce(): Promise<void> {
    const slot = this.#slot + 1
    const { requests } = await this.#engine.build({
      slot,
      timestampSec: this.#genesisTimeSec + slot * SECONDS_PER_SLOT,
      feeRecipient: OWNER,
      parentHash: this.#engine.headHash,
      parentBeaconBlockRoot: ZERO_HASH,
      prevRandao: ZERO_HASH,
      proposerIndex: 0,
      withdrawals: [],
    })
    this.#slot = slot
    const epoch = Math.floor(slot / SLOTS_PER_EPOCH)
    if (epoch > this.exits.epoch) this.exits.advance()
    this.exits.isForgetful = epoch % FORGETS_EVERY_EPOCHS === 0
    for (const deposit of requests.deposits) {
      const pubkey = hexOf(deposit.pubkey)
      if (!this.#credentials.has(pubkey)) {
        this.exits.add(pubkey, isYoung(pubkey) ? NEVER_EPOCH : 0)
        this.#credentials.set(pubkey, hexOf(deposit.withdrawalCredentials))
      }
      this.deposits.push(pubkey)
    }
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const body = await text(request)
    if (path === '/eth/v1/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      this.#listeners.add(response)
      response.on('close', () => this.#listeners.delete(response))
      return
    }
    const { status, json } = await this.#answer(path, body)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
  }

  async #answer(path: string, body: string): Promise<{ readonly status: number; readonly json: object }> {
    const ok = (json: object) => ({ status: 200, json })
    const [, state] = /^\/eth\/v1\/beacon\/states\/(head|finalized)\/validators$/.exec(path) ?? []
    const [, recipientOf] = /^\/eth\/v1\/validator\/(0x[0-9a-f]{96})\/feerecipient$/.exec(path) ?? []
    if (recipientOf !== undefined) {
      this.run.set(recipientOf, JSON.parse(body).ethaddress)
      return { status: 202, json: {} }
    }
    if (state !== undefined) return ok(await this.#registry(state as 'head' | 'finalized', JSON.parse(body).ids))
    switch (path) {
      case '/eth/v1/beacon/genesis':
        return ok({ data: this.#genesis() })
      case '/eth/v1/config/spec':
        return ok({ data: SPEC })
      case '/eth/v1/beacon/headers/head': {
        const { data } = headerJson({ slot: String(this.#slot) })
        return ok({ execution_optimistic: false, finalized: false, data: { ...data, root: rootOf(this.#slot) } })
      }
      case '/eth/v1/keystores':
        return ok({ data: body === '' ? this.#keystores() : this.#import(JSON.parse(body).keystores) })
      case '/eth/v1/beacon/pool/voluntary_exits':
        return await this.#submit(body)
      default:
        return { status: 404, json: { code: 404, message: 'not found' } }
    }
  }

  #keystores(): readonly object[] {
    return [...this.run.keys()].map((pubkey) => ({ validating_pubkey: pubkey }))
  }

  #import(keystores: readonly string[]): readonly object[] {
    return keystores.map((keystore) => {
      const pubkey = `0x${JSON.parse(keystore).pubkey}`
      if (this.run.has(pubkey)) return { status: 'duplicate' }
      this.run.set(pubkey, undefined)
      return { status: 'imported' }
    })
  }

  #genesis(): object {
    return {
      genesis_time: String(this.#genesisTimeSec),
      genesis_validators_root: hexOf(EXIT_FACTS.genesisValidatorsRoot),
      genesis_fork_version: hexOf(GENESIS_FORK_VERSION),
    }
  }

  async #registry(state: 'head' | 'finalized', ids: readonly string[]): Promise<object> {
    const found = await this.exits.registered(state, ids)
    const data = [...found].map(([pubkey, { index, activationEpoch, exitEpoch }]) => ({
      index: String(index),
      balance: '32000000000',
      status: exitEpoch === undefined ? 'active_ongoing' : 'active_exiting',
      validator: {
        pubkey,
        withdrawal_credentials: this.#credentials.get(pubkey),
        effective_balance: '32000000000',
        slashed: false,
        activation_eligibility_epoch: '0',
        activation_epoch: epochText(activationEpoch),
        exit_epoch: epochText(exitEpoch),
        withdrawable_epoch: epochText(exitEpoch),
      },
    }))
    return { execution_optimistic: false, finalized: state === 'finalized', data }
  }

  async #submit(body: string): Promise<{ readonly status: number; readonly json: object }> {
    const { message, signature } = JSON.parse(body)
    const exit = { epoch: Number(message.epoch), validatorIndex: Number(message.validator_index), signature }
    const [submission] = await this.exits.submit(exit)
    if (submission?.status === 'accepted') return { status: 200, json: {} }
    const reason = submission?.status === 'refused' ? submission.reason : 'unknown'
    return { status: 400, json: { code: 400, message: reason } }
  }
}

const SPEC = {
  SECONDS_PER_SLOT: String(SECONDS_PER_SLOT),
  SLOTS_PER_EPOCH: String(SLOTS_PER_EPOCH),
  DEPOSIT_CHAIN_ID: String(DEVNET_CHAIN_ID),
  DEPOSIT_CONTRACT_ADDRESS,
  CAPELLA_FORK_VERSION: hexOf(EXIT_FACTS.capellaForkVersion),
  SHARD_COMMITTEE_PERIOD: String(EXIT_FACTS.shardCommitteePeriodEpochs),
}

function epochText(epoch: number | undefined): string {
  return epoch === undefined ? FAR_FUTURE_EPOCH : String(epoch)
}

function rootOf(slot: number): string {
  return `0x${slot.toString(16).padStart(64, '0')}`
}
