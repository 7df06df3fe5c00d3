import { expect, onTestFinished, test } from 'vitest'
import { HELD_OF_CHAIN_MAX } from '../../commands/validators/answering.ts'
import { broadcasting, followingStakings } from '../../commands/validators/broadcasting.ts'
import { creating } from '../../commands/validators/creating.ts'
import type { Custody, Duty } from '../../commands/validators/duty.ts'
import { exiting } from '../../commands/validators/exiting.ts'
import type { JobQueue, WorkOptions } from '../../infra/ports/job-queue.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { broadcastStaking } from '../../schemas/jobs/broadcast-staking.ts'
import { createValidators } from '../../schemas/jobs/create-validators.ts'
import { exitValidators } from '../../schemas/jobs/exit-validators.ts'
import { takeExitCalls } from '../../schemas/jobs/take-exit-calls.ts'
import { askedFor } from './given-creating.ts'
import { silentLog } from './silent-log.ts'

const NEVER = new Promise<never>(() => {})
const HASH = `0x${'aa'.repeat(32)}`
const PUBKEY = `0x${'bb'.repeat(48)}`
const ADDRESS = `0x${'cc'.repeat(20)}`
/** More than any kind of work has places for on one chain. */
const ASKED = HELD_OF_CHAIN_MAX

/** A queue that hands out what it has, as many at once as a worker takes; what is done is told by chain. */
function queueOf(name: string, inputs: readonly { readonly chain: string }[]) {
  const waiting = [...inputs]
  const answered = new Map(inputs.map(({ chain }) => [chain, Promise.withResolvers<unknown>()]))
  let handedOut = 0
  async function work(options: WorkOptions): Promise<void> {
    if (options.name !== name) return
    const next = async (): Promise<void> => {
      const input = waiting.shift()
      if (input === undefined) return
      handedOut++
      const output = options.handle({ id: String(handedOut), input, attempt: 1 })
      answered.get(input.chain)?.resolve(await output.catch((error: unknown) => error))
      await next()
    }
    await Promise.all(Array.from({ length: options.concurrency }, next))
  }
  return { jobQueue: { work } as unknown as JobQueue, answered: (chain: string) => answered.get(chain)?.promise }
}

/** Nodes of the chain `hangs` never answer, from the opening on; another one is paused. */
function begin(duty: Duty, jobQueue: JobQueue): void {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const custody = {
    ports: { jobQueue },
    running: { log: silentLog, config: {} },
    chains: { of: (name: string) => (name === 'hangs' ? NEVER : undefined) },
    book: new StakingBook(),
  } as unknown as Custody
  void duty(custody, stop.signal)
}

const inputs = {
  create: (chain: string) => askedFor(1, { chain }),
  broadcast: (chain: string) => ({ chain, account: 'acme', txHash: HASH, rawTransaction: '0x02', notAfterMs: 1 }),
  exit: (chain: string) => ({
    ...{ kind: 'request', chain, account: 'acme', actor: 'a', notAfterMs: 1 },
    ...{ requestId: '00000000-0000-4000-8000-000000000000', pubkeys: [PUBKEY], deposited: [] },
  }),
}

test.each([
  ['creations', creating, createValidators.name, inputs.create],
  ['broadcasts', broadcasting, broadcastStaking.name, inputs.broadcast],
  ['exits', exiting, exitValidators.name, inputs.exit],
] as const)('%s of a chain go on beside a chain whose nodes hang', async (_, duty, name, inputOf) => {
  const queue = queueOf(name, [...Array.from({ length: ASKED }, () => inputOf('hangs')), inputOf('goes')])
  begin(duty, queue.jobQueue)
  expect(await queue.answered('goes')).toEqual({ status: 'unavailable' })
})

test('calls for exits of a chain are taken beside a chain whose nodes hang', async () => {
  const calls = ['hangs', 'goes'].map((chain) => ({ chain, contract: ADDRESS, calls: [] }))
  const queue = queueOf(takeExitCalls.name, calls)
  begin(exiting, queue.jobQueue)
  expect(await queue.answered('goes')).toBeUndefined()
})

test('requests of a chain beyond those that it may have in hand go back to the queue', async () => {
  const asked = Array.from({ length: ASKED + 1 }, () => inputs.create('hangs'))
  const queue = queueOf(createValidators.name, asked)
  begin(creating, queue.jobQueue)
  expect(await queue.answered('hangs')).toMatchObject({ code: 'job_queue', retryable: true })
})

/** Follows one transaction of each chain, whose heads are told so. */
function follow(heads: Readonly<Record<string, () => Promise<never>>>): Promise<void> {
  const sent = Object.keys(heads).map((chain) => ({ chain, txHash: HASH }))
  const custody = {
    running: { log: silentLog },
    chains: { of: async (name: string) => ({ name, blocks: { head: heads[name] } }) },
    book: { sent: { pending: (chain?: string) => sent.filter((one) => chain === undefined || one.chain === chain) } },
  } as unknown as Custody
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  return followingStakings(custody, stop.signal)
}

test('staking transactions of a chain are looked after, again and again, beside a chain whose nodes hang', async () => {
  const lookedAgain = Promise.withResolvers<void>()
  let looks = 0
  const goes = (): Promise<never> => {
    if (++looks === 2) lookedAgain.resolve()
    return Promise.reject(new AppError('node_unreachable', 'away'))
  }
  void follow({ hangs: () => NEVER, goes })
  await lookedAgain.promise
})

test('they are looked after again when nodes were closed for others, and no fault of another kind is passed over', async () => {
  const faults = [new Error('a defect'), new AppError('usage', 'closed')]
  await expect(follow({ goes: () => Promise.reject(faults.pop()) })).rejects.toThrow('a defect')
})
