import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { DURABLE_STEPS, type DurableStep } from '../../processors/validators/durable-steps.ts'
import { decodeEvent, type EventType } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { exitCallRead } from '../../schemas/events/exit-calls.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned } from '../../schemas/events/exits.ts'
import { stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import { keysAssigned } from '../../schemas/events/vault-keys.ts'
import type { TakenCall } from '../../schemas/jobs/take-exit-calls.ts'
import { PATIENCE } from '../long-form.ts'
import { EXIT_FACTS } from '../unit/exit-chain.ts'
import { dyingAt, type Moment } from './die-at-step.ts'
import { KilledProgram, type Victim } from './killed-program.ts'
import { Customer, emptyLedger, type Ledger, liveOn } from './lives.ts'
import { type Environment, eventually, STEP_TIMEOUT_MS } from './processes.ts'
import { isYoung, openStandInChain, type StandInChain } from './stand-in-chain.ts'
import { eventsOf, openLog } from './stores.ts'

const CUSTOMERS = 4
const SETTLED_TIMEOUT_MS = 600_000
const SETTLED_POLL_MS = 1_000
const SIGNED_AT_ONCE = 100
/** Two hundred deaths take minutes, in servers mode an hour. */
const DEATHS_TIMEOUT = { timeout: 600_000 * PATIENCE }

/** A durable step, and on which side of it the process is killed. */
export type Death = readonly [DurableStep, Moment]

const STEPS = Object.values(DURABLE_STEPS).flat()
export const ALL_DEATHS: readonly Death[] = STEPS.flatMap((step) => [
  [step, 'before'],
  [step, 'after'],
])
/** What lies after one step lies before the next one. */
export const DEATHS_AFTER: readonly Death[] = ALL_DEATHS.filter(
  ([step, moment]) => moment === 'after' || step === STEPS[0],
)

/** The role has most of what can be lost. */
const VICTIMS: readonly Victim[] = ['validators', 'validators', 'validators', 'both', 'api', 'vault']

export interface KillsOptions {
  readonly mode: string
  readonly modeOf: (name: string) => Environment
  readonly deaths: readonly Death[]
  readonly randomKills: number
  /** The longest that is waited after a start before the next kill. */
  readonly pauseMsMax: number
}

/** Customers create, broadcast and exit without end while the program's processes are killed; in the end all that was answered holds. */
export function killsSuite({ mode, modeOf, deaths, randomKills, pauseMsMax }: KillsOptions): void {
  describe(`while its processes are killed in ${mode} mode, the program`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-kills-'))
    const ledger = emptyLedger()
    const stop = new AbortController()
    let chain: StandInChain
    let program: KilledProgram
    let lives: Promise<readonly number[]>
    let isKilled = false

    beforeAll(async () => {
      chain = await openStandInChain()
      program = await KilledProgram.open(modeOf('kills'), directory, chain)
      const customers = Array.from({ length: CUSTOMERS }, (_, place) => new Customer(program, chain, { ledger, place }))
      lives = Promise.all(customers.map((customer) => liveOn(customer, stop.signal)))
      lives.catch(() => {}) // whoever waits for something beside it hears of it
    })

    afterAll(async () => {
      stop.abort()
      await program?.[Symbol.asyncDispose]()
      await chain?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    /** Rejects with what a customer or the chain has found instead, if one has. */
    const meanwhile = <Result>(work: Promise<Result>): Promise<Result> =>
      Promise.race([work, lives.then(() => work), chain.ended.then(() => work)])

    it(`dies ${deaths.length} times beside durable steps`, DEATHS_TIMEOUT, async () => {
      for (const [step, moment] of deaths) {
        await program.restartRole(dyingAt(step, moment))
        const late = delay(STEP_TIMEOUT_MS).then(() => {
          throw new Error(`the role did not die ${moment} ${step}:\n${program.validators.output()}`)
        })
        const signal = await meanwhile(Promise.race([program.validators.exited, late]))
        expect(signal, program.validators.output()).toBe('SIGKILL')
      }
      await program.restartRole({})
      await meanwhile(program.untilHeard())
    })

    it(`dies ${randomKills} times at random`, DEATHS_TIMEOUT, async () => {
      for (let i = 0; i < randomKills; i++) {
        // Every other one may meet processes that are still starting.
        if (i % 2 === 0) await meanwhile(program.untilHeard())
        await meanwhile(delay(Math.random() * pauseMsMax))
        await program.kill(VICTIMS[Math.floor(Math.random() * VICTIMS.length)] ?? 'validators')
      }
      isKilled = true
    })

    it(
      'has lost no key, made none twice, answered nothing by halves, and contradicted no exit',
      DEATHS_TIMEOUT,
      async () => {
        // Customers of a program that hangs have the patience of hours.
        expect(isKilled, 'it was killed as often as it should be').toBe(true)
        stop.abort()
        const lived = await lives
        expect(lived.every((count) => count > 0)).toBe(true)
        const log = await eventually(
          'an end of everything',
          () => settled(program.env, ledger),
          SETTLED_TIMEOUT_MS,
          SETTLED_POLL_MS,
        )
        for (const [key, answer] of new Map(ledger.created.map((one) => [one.key, one.answer]))) {
          const body = {
            validator_count: answer.validators.length,
            withdrawal_address: answer.staking_transaction.from,
          }
          expect((await program.untilAnswered('create', body, key)).data, key).toEqual(answer)
        }
        await program.stop()
        expectCreatedOnce(log, ledger)
        await expectSigning(
          program.env,
          log.created.flatMap(({ pubkeys }) => pubkeys),
        )
        expectOneDeposit(log, ledger, chain)
        expectOneExit(log, ledger, chain)
        expectCallsTaken(log, ledger)
        expectRun(log, chain)
        const { kills, requests } = program.figures
        process.stdout.write(
          `${mode}: ${kills} kills, ${requests} requests, ${log.created.length} creates of ${log.created.flatMap(({ pubkeys }) => pubkeys).length} validators, ` +
            `${chain.deposits.length} deposits by ${ledger.sent.length} transactions, ${log.exited.length} exits, ${ledger.calls.length} calls for exits\n`,
        )
      },
    )
  })
}

type Log = Awaited<ReturnType<typeof readLog>>

async function readLog(env: Environment) {
  await using eventLog = await openLog(env)
  const events = (await eventsOf(eventLog, 'accounts')).map(({ event }) => event)
  const all = <Data>(type: EventType<string, Data>) =>
    events.filter((event) => event.type === type.name).map((event) => decodeEvent(type, event))
  return {
    created: all(validatorsCreated),
    sent: all(stakingBroadcast),
    ended: all(stakingEnded),
    assigned: all(keysAssigned).flatMap(({ pubkeys }) => pubkeys),
    asked: all(exitRequested),
    calls: all(exitCallRead),
    signed: all(exitSigned),
    exited: all(exitEnded),
    /** Types of the events of a validator's exit, in their order. */
    stepsOf: (pubkey: string) =>
      events.flatMap(({ type, data }) => (concerns(type, Buffer.from(data), pubkey) ? [type] : [])),
  }
}

/** The data of these events is JSON. */
function concerns(type: string, data: Buffer, pubkey: string): boolean {
  return type.startsWith('account.exit-') && data.includes(pubkey)
}

/** What the log says when everything that was begun has come to its end; undefined before that. */
async function settled(env: Environment, { leaving, staying }: Ledger): Promise<Log | undefined> {
  const log = await readLog(env)
  const ended = new Set(log.ended.map(({ txHash }) => txHash))
  const exited = new Set(log.exited.map(({ pubkey }) => pubkey))
  const isOver = (pubkey: string) => exited.has(pubkey) || staying.has(pubkey) || isYoung(pubkey)
  return log.sent.every(({ txHash }) => ended.has(txHash)) && [...leaving].every(isOver) ? log : undefined
}

function expectCreatedOnce({ created }: Log, ledger: Ledger): void {
  const told = created.flatMap(({ pubkeys }) => pubkeys)
  expect(new Set(told).size).toBe(told.length)
  const sets = new Set(created.map(({ pubkeys }) => pubkeys.join()))
  for (const { key, answer } of ledger.created)
    expect(sets, key).toContain(answer.validators.map(({ pubkey }) => pubkey).join())
}

/** Every key that the log knows is in the vault, which verifies what it signs. */
async function expectSigning(env: Environment, pubkeys: readonly string[]): Promise<void> {
  await using vault = await openLocalKeyVault(readConfig(env).vault)
  expect(await vault.lacking(pubkeys)).toEqual([])
  for (let from = 0; from < pubkeys.length; from += SIGNED_AT_ONCE) {
    const some = pubkeys.slice(from, from + SIGNED_AT_ONCE)
    const exits = some.map((pubkey, i) => ({ pubkey, epoch: 1, validatorIndex: i }))
    expect(await vault.signExits(exits, { chain: 'mainnet', ...EXIT_FACTS })).toHaveLength(some.length)
  }
}

/** For every validator that was funded there is one deposit, and one transaction that was told and has been mined. */
function expectOneDeposit({ sent, ended }: Log, ledger: Ledger, { deposits }: StandInChain): void {
  expect(new Set(deposits).size).toBe(deposits.length)
  // The registry here takes a deposit at once: who has just looked for the transaction in vain may find its validators there.
  const over = ended.filter(({ status }) => status === 'mined' || status === 'superseded').map(({ txHash }) => txHash)
  expect(new Set(over).size).toBe(over.length)
  expect(new Set(over)).toEqual(new Set(ledger.sent))
  const pubkeys = sent.filter(({ txHash }) => over.includes(txHash)).flatMap((one) => one.pubkeys)
  expect(pubkeys.toSorted()).toEqual(deposits.toSorted())
}

/** The validator client has the keys of what is deposited, and of nothing that the log does not call its; each with its fee recipient. */
function expectRun({ assigned, created }: Log, { deposits, run }: StandInChain): void {
  expect(new Set(assigned).size).toBe(assigned.length)
  for (const pubkey of run.keys()) expect(assigned).toContain(pubkey)
  const recipients = new Map(created.flatMap(({ pubkeys, feeRecipient }) => pubkeys.map((one) => [one, feeRecipient])))
  for (const pubkey of deposits) expect(run.get(pubkey)?.toLowerCase(), pubkey).toBe(recipients.get(pubkey))
}

/** Nodes were given one message of each validator at most; none of one that may stay; and who was let go has left once. */
function expectOneExit(log: Log, { leaving, staying }: Ledger, { exits }: StandInChain): void {
  const handed = new Set(exits.handed)
  const indices = [...handed].map((text) => JSON.parse(text)[1])
  expect(new Set(indices).size).toBe(indices.length)
  const messages = new Set(log.signed.map((one) => JSON.stringify([one.epoch, one.validatorIndex, one.signature])))
  for (const text of handed) expect(messages).toContain(text)
  expect(log.signed.map(({ pubkey }) => pubkey).toSorted()).toEqual(log.exited.map(({ pubkey }) => pubkey).toSorted())
  for (const pubkey of leaving) {
    const last = log.stepsOf(pubkey).at(-1)
    if (staying.has(pubkey)) expect(last, pubkey).toBe(exitCancelled.name)
    else expect(last, pubkey).toBe(isYoung(pubkey) ? exitRequested.name : exitEnded.name)
  }
}

/** What a call has asked for was asked for once, by nobody else, and the log says so once. */
function expectCallsTaken({ asked, calls }: Log, ledger: Ledger): void {
  expect(calls.map(({ txHash }) => txHash).toSorted()).toEqual(ledger.calls.map(({ txHash }) => txHash).toSorted())
  for (const { txHash, outcome } of calls) {
    const wanted = ledger.calls.filter((call) => call.txHash === txHash).flatMap(pubkeysOf)
    expect(outcome, txHash).toEqual({ status: 'taken', scheduled: wanted.length, passedOver: [] })
    const requests = asked.filter(({ pubkeys }) => pubkeys.some((pubkey) => wanted.includes(pubkey)))
    expect(requests, txHash).toMatchObject([{ actor: txHash.slice(2), pubkeys: wanted }])
  }
}

function pubkeysOf({ calledFor }: TakenCall): readonly string[] {
  return calledFor.kind === 'listed' ? calledFor.pubkeys : []
}
