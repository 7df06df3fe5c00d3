import { pino } from 'pino'
import { expect, test } from 'vitest'
import { openApi } from '../../api/http/server.ts'
import type { WordsReader } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { noWords } from '../unit/no-words.ts'
import { TOKEN } from './given-api.ts'
import { networkOn, openGivenGateway, openStub, untilHealthy } from './given-gateway.ts'
import { handshake, parseRaw, sendRaw } from './given-socket.ts'

const PLACE = 'ethereum/mainnet'
const WHY = 'Service Unavailable: the tables cannot be read at the moment'

test('while nobody can say who has which key a call is refused with 503, and the log says why without a stack', async () => {
  await using open = new AsyncDisposableStack()
  const node = open.use(await openStub('ethereum', 'mainnet'))
  const gateway = open.use(await openGivenGateway([networkOn(PLACE, node)]))
  await untilHealthy(gateway, PLACE)
  const { given, upstreams } = gateway
  const logged: string[] = []
  let isAway = true
  const warehouse: WordsReader = {
    ...noWords,
    query: (sql, ...asked) =>
      isAway
        ? Promise.reject(new AppError('warehouse', 'ClickHouse did not answer (ECONNREFUSED).', { retryable: true }))
        : given.warehouse.query(sql, ...asked),
  }
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const parts = { ...given.partsOf([]), warehouse, upstreams, log }
  const api = open.use(await openApi({ ...parts, host: '127.0.0.1', port: 0 }))
  const body = '{"jsonrpc":"2.0","id":7,"method":"eth_chainId"}'
  const ask = () => fetch(`${api.url}/${PLACE}/${TOKEN}`, { method: 'POST', body })
  const refused = { jsonrpc: '2.0', id: null, error: { code: -32011, message: WHY } }
  const away = await ask()
  expect([away.status, await away.json()]).toEqual([503, refused])
  const lines = handshake(`/ws/${PLACE}/${TOKEN}`, 'Upgrade: websocket', 'Sec-WebSocket-Version: 13')
  expect(parseRaw(await sendRaw({ ...gateway, api }, ...lines))).toEqual([503, refused])
  expect(logged.join()).toContain('ECONNREFUSED')
  expect(logged.join()).not.toContain('"level":50')
  isAway = false
  expect((await ask()).status).toBe(200)
})
