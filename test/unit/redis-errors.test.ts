import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openRedisCounters } from '../../infra/counters/redis.ts'
import { openBullmqJobQueue } from '../../infra/job-queue/bullmq.ts'
import { silentLog } from './silent-log.ts'

const PASSWORD = 'RedisSecret77'

const OPENED = [
  ['counters', (redisUrl: string) => openRedisCounters({ redisUrl, prefix: 'a:' })],
  ['job queue', (redisUrl: string) => openBullmqJobQueue({ redisUrl, prefix: 'a', log: silentLog })],
] as const

/** A server that answers every command alike, as a Redis does whose password was not given. */
async function given(answer: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      const commands = data.toString().match(/^\*\d+\r$/gm) ?? []
      for (const _command of commands) socket.write(`${answer}\r\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return server
}

function urlOf(server: Server): string {
  return `redis://:${PASSWORD}@127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each(OPENED)(
  '%s whose Redis is not there say so, by their setting and without the address',
  async (_what, open) => {
    const server = await given('')
    const url = urlOf(server)
    server.close()
    await once(server, 'close')
    await expect(open(url)).rejects.toMatchObject({
      retryable: true,
      message: 'Redis (REDIS_URL): ECONNREFUSED',
    })
  },
)

test.each(OPENED)('%s whose Redis has no known name say so', async (_what, open) => {
  await expect(open('redis://redis.invalid:6379')).rejects.toMatchObject({
    message: expect.stringMatching(/^Redis \(REDIS_URL\): (ENOTFOUND|EAI_AGAIN)$/),
  })
})

const REFUSALS = [
  ['NOAUTH', '-NOAUTH Authentication required.'],
  ['WRONGPASS', '-WRONGPASS invalid username-password pair or user is disabled.'],
]

test.each(OPENED.flatMap(([what, open]) => REFUSALS.map(([code, answer]) => [what, code, answer, open] as const)))(
  '%s whose password Redis refuses (%s) are a wrong setting',
  async (_what, code, answer = '', open) => {
    const opening = open(urlOf(await given(answer)))
    await expect(opening).rejects.toMatchObject({ code: 'config', message: expect.stringContaining(`(${code})`) })
    await expect(opening).rejects.toMatchObject({ message: expect.not.stringContaining(PASSWORD) })
  },
)
