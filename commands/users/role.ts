import {
  answerAsked,
  answerOperator,
  dropExpiredSignUps,
  type UsersParts,
} from '../../processors/users/answer-asked.ts'
import { readOrderBook } from '../../processors/users/order-book.ts'
import { readUserBook } from '../../processors/users/user-book.ts'
import { Turns } from '../../processors/validators/turns.ts'
import { askOrders } from '../../schemas/jobs/ask-orders.ts'
import { askUsers } from '../../schemas/jobs/ask-users.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { pause } from '../../schemas/wait.ts'
import { allOrNone } from '../ingest-role.ts'
import type { Ports, Role, Running } from '../role.ts'
import { whileLeased } from '../while-leased.ts'

const USERS_LEASE = 'users'
/** Sign-ups that nobody verifies count for a day, and are gone this much later. */
const DROP_EVERY_MS = 3_600_000

/** Decides about accounts that people make: one process at a time, which the API asks by jobs (decision 42). */
export const usersRole: Role = {
  name: 'users',
  needs: ['eventLog', 'jobQueue'],
  decidesByFacts: true,
  run({ eventLog, jobQueue }, running, signal) {
    const { log } = running
    const onLost = (reason: string) =>
      log.warn({ reason }, "the right to decide about people's accounts is lost: asking for it again")
    return whileLeased(
      { eventLog, log, lease: USERS_LEASE, what: "the deciding about people's accounts", onLost },
      async (writer, ending) => {
        const book = await readUserBook(eventLog, ending)
        const orders = await readOrderBook(eventLog, log, ending)
        await decideAlone({ ports: { jobQueue }, running, parts: { book, orders, writer, log, now: Date.now } }, ending)
      },
      signal,
    )
  },
}

interface Deciding {
  readonly ports: Pick<Ports, 'jobQueue'>
  readonly running: Pick<Running, 'log'>
  readonly parts: UsersParts
}

export async function decideAlone({ ports, running, parts }: Deciding, signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const turns = new Turns()
  const inTurn = <Result>(work: () => Promise<Result>) => turns.take(USERS_LEASE, work)
  const answering = ports.jobQueue.work({
    name: askUsers.name,
    concurrency: 1,
    signal: ending,
    handle: ({ input }) => inTurn(() => answerAsked(parts, askUsers.parse(input))),
  })
  const answeringOperators = ports.jobQueue.work({
    name: askOrders.name,
    concurrency: 1,
    signal: ending,
    handle: ({ input }) => inTurn(() => answerOperator(parts, askOrders.parse(input))),
  })
  const dropping = async (): Promise<void> => {
    while (!ending.aborted) {
      await retryWithBackoff({ log: running.log, signal: ending, what: 'the dropping of old sign-ups' }, () =>
        inTurn(() => dropExpiredSignUps(parts)),
      )
      await pause(DROP_EVERY_MS, ending)
    }
  }
  await allOrNone([answering, answeringOperators, dropping()], stop)
}
