import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openWarehouse } from '../../infra/warehouse/open.ts'

const PASSWORD = 'ChSecret88'

test('something after ? that the client does not know is a wrong setting, named without its value', async () => {
  const opening = openWarehouse({ url: `http://127.0.0.1:1/?password=${PASSWORD}` })
  await expect(opening).rejects.toMatchObject({ code: 'config', message: expect.stringMatching(/^CLICKHOUSE_URL /) })
  await expect(opening).rejects.toMatchObject({ message: expect.not.stringContaining(PASSWORD) })
})

test('a % of the password that was not written as %25 is a wrong setting', async () => {
  await expect(openWarehouse({ url: 'http://user:50%@127.0.0.1:1' })).rejects.toMatchObject({ code: 'config' })
})

test('user and password of the URL count before those beside it, and nothing is printed of them', async () => {
  const asked: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    asked.push(request.headers)
    response.end('{"1":1}\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const printed = vi.spyOn(console, 'warn')
  onTestFinished(() => printed.mockRestore())
  const { port } = server.address() as AddressInfo
  const url = `http://me:${PASSWORD}%25@127.0.0.1:${port}`
  await using _warehouse = await openWarehouse({ url, user: 'default', password: '' })
  expect(asked.map(({ authorization = '' }) => Buffer.from(authorization.slice(6), 'base64').toString())).toEqual([
    `me:${PASSWORD}%`,
  ])
  expect(printed).not.toHaveBeenCalled()
})
