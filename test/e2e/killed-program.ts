import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readConfig } from '../../infra/config/config.ts'
import { BATCH_DEPOSIT_ADDRESS, EXIT_REQUEST_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { openJobQueue } from '../../infra/open-ports.ts'
import { areAccountsKnown } from '../../processors/accounts/accounts-known.ts'
import { areTablesWhole } from '../../processors/loop/filled-from.ts'
import { runProcessing } from '../../processors/run-processing.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { exitCallRead } from '../../schemas/events/exit-calls.ts'
import { type TakenCall, takeExitCalls } from '../../schemas/jobs/take-exit-calls.ts'
import { vaultProcessesOf } from '../contract/key-vault-local.ts'
import { PATIENCE } from '../long-form.ts'
import { silentLog } from '../unit/silent-log.ts'
import { createToken } from './account.ts'
import { runChain, writeChains } from './configuration.ts'
import { type Environment, eventually, type Running, STEP_TIMEOUT_MS, startProgram } from './processes.ts'
import type { StandInChain } from './stand-in-chain.ts'
import { openLog, openTables } from './stores.ts'

/** As long as processes are killed: how much of that time nothing runs is the machine's affair. */
const ASKED_TIMEOUT_MS = 600_000 * PATIENCE
/** Clients here are in a hurry: what they have not heard of by then they ask again, while the first job may still be on its way. */
const PATIENCE_MS = 6_000
/** Who has asked so often for the same waits no longer for it than before. */
const PATIENT_AFTER = 5
const PAUSE_MS = 200
/** Between two requests for calls that are not taken yet. */
const CALLS_PAUSE_MS = 500
const CHAIN = 'mainnet'

export interface Answer<Data> {
  readonly status: number
  readonly code: string
  readonly msg: string
  readonly reason?: string
  readonly data?: Data
}

export type Victim = 'validators' | 'vault' | 'api' | 'both'

/** The API and the role with the vault, each in a process of its own, which is killed and started again; what both keep stays. */
export class KilledProgram implements AsyncDisposable {
  readonly env: Environment
  readonly #token: string
  /** What customers have called for and the log knows no end of. */
  readonly #calls = new Set<TakenCall>()
  #api: Running
  #validators: Running
  #kills = 0
  #requests = 0
  /** What customers have asked and not heard of. */
  readonly #asked = new Map<object, string>()

  private constructor(env: Environment, token: string, [api, validators]: readonly [Running, Running]) {
    this.env = env
    this.#token = token
    this.#api = api
    this.#validators = validators
  }

  static async open(mode: Environment, directory: string, chain: StandInChain): Promise<KilledProgram> {
    const file = join(directory, 'epochline.yaml')
    const contracts = { staking: { contract: BATCH_DEPOSIT_ADDRESS }, exit_contract: EXIT_REQUEST_ADDRESS }
    writeChains(file, { [CHAIN]: { ...runChain(file, chain), ...contracts } })
    const limits = { VALIDATORS_UNFUNDED_MAX: '100000', VALIDATORS_EXPIRY_EPOCHS: '10000000' }
    const env = { ...mode, ...limits, EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: file }
    const token = await createToken(env, { scopes: 'read,create,exit' })
    await fillTables(env)
    const running = [await startProgram(['api'], env), await startRole(env)] as const
    return new KilledProgram(env, token, running)
  }

  get validators(): Running {
    return this.#validators
  }

  /** Of processes, and what the API was asked. */
  get figures(): { readonly kills: number; readonly requests: number } {
    return { kills: this.#kills, requests: this.#requests }
  }

  /** What the API answers; undefined where the answer did not come, or not in time. */
  async #ask<Data>(
    path: string,
    body: object,
    { key, patienceMs }: { readonly key: string | undefined; readonly patienceMs: number },
  ): Promise<Answer<Data> | undefined> {
    this.#requests++
    try {
      const response = await fetch(`${this.#api.url}/ethereum/${CHAIN}/${this.#token}/api/v1/validator/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: key === undefined ? {} : { 'idempotency-key': key },
        signal: AbortSignal.timeout(patienceMs),
      })
      return { status: response.status, ...((await response.json()) as Omit<Answer<Data>, 'status'>) }
    } catch {
      return undefined // its process was killed, or the one that it waits for
    }
  }

  /** Asks until somebody knows: clients repeat what they may repeat, with more patience each time. */
  async untilAnswered<Data>(path: string, body: object, key?: string): Promise<Answer<Data>> {
    const question = {}
    let last: Answer<Data> | undefined
    let asked = 0
    this.#asked.set(question, path)
    const answered = async () => {
      asked++
      last = await this.#ask<Data>(path, body, { key, patienceMs: PATIENCE_MS * Math.min(asked, PATIENT_AFTER) })
      return last === undefined || last.status >= 500 ? undefined : last
    }
    const answer = await eventually(`an answer to ${path}`, answered, ASKED_TIMEOUT_MS, PAUSE_MS)
    this.#asked.delete(question)
    return answer
  }

  /** While nothing is killed, whatever is asked now has its answer in the end. */
  async untilHeard(): Promise<void> {
    const asked = new Map(this.#asked)
    const heard = async () => ([...asked.keys()].some((question) => this.#asked.has(question)) ? undefined : true)
    await eventually('an answer to everybody', heard, STEP_TIMEOUT_MS, PAUSE_MS).catch((cause: unknown) => {
      const unheard = [...asked].filter(([question]) => this.#asked.has(question)).map(([, path]) => path)
      const said = [unheard.join(), JSON.stringify(this.figures), this.#api.output(), this.#validators.output()]
      throw new Error(said.join('\n'), { cause })
    })
  }

  /** Wants a call taken as the role `process` does: again, with all that are open, until the log has the end of it. */
  async untilTaken(call: TakenCall): Promise<void> {
    await using eventLog = await openLog(this.env)
    await using jobQueue = await openJobQueue(readConfig(this.env), silentLog)
    const from = await eventLog.ends('accounts')
    // All calls of a chain are one job: who is killed with it keeps it for a lease, and of five such deaths there comes a minute's rest.
    this.#asked.set(call, 'a call for exits')
    this.#calls.add(call)
    const taken = async () => {
      const input = { chain: CHAIN, contract: EXIT_REQUEST_ADDRESS, calls: [...this.#calls] }
      await jobQueue.request(takeExitCalls.name, takeExitCalls.idOf(input), input)
      for await (const { event } of eventLog.read({
        topic: 'accounts',
        from,
        signal: AbortSignal.timeout(STEP_TIMEOUT_MS),
      }))
        if (event.type === exitCallRead.name && decodeEvent(exitCallRead, event).txHash === call.txHash) return true
      return undefined
    }
    await eventually('the end of a call for exits', taken, ASKED_TIMEOUT_MS, CALLS_PAUSE_MS)
    this.#calls.delete(call)
    this.#asked.delete(call)
  }

  /** Kills without warning, and starts again at once. */
  async kill(victim: Victim): Promise<void> {
    this.#kills++
    if (victim === 'vault') {
      for (const pid of vaultProcessesOf(this.#validators.pid)) process.kill(pid, 'SIGKILL')
      return
    }
    const [isApi, isRole] = [victim !== 'validators', victim !== 'api']
    await Promise.all([isApi && this.#api.kill(), isRole && this.#validators.kill()])
    if (isRole) this.#validators = await startRole(this.env)
    if (isApi) this.#api = await startProgram(['api'], this.env)
  }

  /** Starts the role in another environment, in the place of the one that has ended or is ended by this. */
  async restartRole(more: Environment): Promise<void> {
    this.#kills++
    await this.#validators.kill()
    this.#validators = await startRole({ ...this.env, ...more })
  }

  async stop(): Promise<void> {
    await Promise.all([this.#api.kill(), this.#validators.kill()])
    await delay(PAUSE_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** It announces nothing: who asks the API waits for it. */
function startRole(env: Environment): Promise<Running> {
  return startProgram(['validators'], env, { announces: false })
}

/** The token's account gets into the tables; what comes later may stay outside of them, which is as far behind as they can be. */
async function fillTables(env: Environment): Promise<void> {
  const stop = new AbortController()
  await using eventLog = await openLog(env)
  await using warehouse = await openTables(env)
  await using jobQueue = await openJobQueue(readConfig(env), silentLog)
  const now = () => Date.now() / 1_000
  const processing = runProcessing({ eventLog, warehouse, jobQueue, log: silentLog, now }, stop.signal)
  const isThere = async () => {
    const isWhole = await areTablesWhole(warehouse)
    return isWhole && (await areAccountsKnown({ eventLog, warehouse, waitMs: 0 })) ? true : undefined
  }
  await eventually('the account in the tables', isThere)
  stop.abort()
  await processing
}
