import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { AnswerHandler, UpstreamFault, UpstreamRequest } from '../../infra/ports/upstreams.ts'
import { HttpUpstream } from '../../infra/upstreams/http-upstream.ts'

/** Calls that would open a breaker if they counted. */
const CALLS = 20

async function given(listener: RequestListener, path = '', user = '') {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://${user}127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  const upstream = new HttpUpstream({ url, headers: {}, weight: 1 }, 'secret')
  onTestFinished(async () => {
    await upstream[Symbol.asyncDispose]()
    server.close()
  })
  const ask = (leadTo?: UpstreamRequest['leadTo']) =>
    new Promise<[number, string | undefined] | UpstreamFault>((resolve) => {
      let told: [number, string | undefined] = [0, undefined]
      const handler: AnswerHandler = {
        onHeaders: (status, { location }) => {
          told = [status, location]
        },
        onData() {},
        // As of calls: what is no JSON is no answer.
        onEnd: () => {
          resolve(told)
          return told[0] < 400
        },
        onFault: resolve,
      }
      upstream.send({ verb: 'GET', path: '/ipfs/cid/dir', headers: [], body: null, isEndless: false, leadTo }, handler)
    })
  return { upstream, ask }
}

const leading =
  (location: string, status = 301): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end('moved')
const asIs = (path: string) => `told:${path}`

describe('a node that leads to another path', () => {
  test.each([301, 302, 303, 307, 308])('is heard with %i, and has not failed', async (status) => {
    const { upstream, ask } = await given(leading('/ipfs/cid/dir/?a=b', status))
    for (let i = 0; i < CALLS; i++) expect(await ask(asIs)).toEqual([status, 'told:/ipfs/cid/dir/?a=b'])
    expect(upstream.breaker.isOpen).toBe(false)
  })

  test('is heard without what its own address has before', async () => {
    const { ask } = await given(leading('/key-1/ipfs/cid/dir/'), '/key-1')
    expect(await ask(asIs)).toEqual([301, 'told:/ipfs/cid/dir/'])
  })

  test.each([
    ...['http://node.example/ipfs/cid/dir/', '//node.example/', '/\\node.example/', 'dir/', '', '/a b', '/\xe9'],
  ])('is not heard where that may be another host, or is no path, and has not failed: %s', async (location) => {
    const { upstream, ask } = await given(leading(location))
    for (let i = 0; i < CALLS; i++) expect(await ask(asIs)).toBe('refused')
    expect(upstream.breaker.isOpen).toBe(false)
  })

  test('is not heard where nobody may go there, or where its address has a key behind it', async () => {
    expect(await (await given(leading('/admin'))).ask(() => undefined)).toBe('refused')
    expect(await (await given(leading('/ipfs/cid/dir/?key=1'), '?key=1')).ask(asIs)).toBe('refused')
  })

  test('has failed where it is asked for calls', async () => {
    const { upstream, ask } = await given(leading('/ipfs/cid/dir/'))
    for (let i = 0; i < CALLS; i++) expect(await ask()).toBe('refused')
    expect(upstream.breaker.isOpen).toBe(true)
  })
})

test.each([
  [413, false],
  [400, true],
  [502, true],
])('calls that are no answer with %i open a breaker: %s', async (status, isOpen) => {
  const { upstream, ask } = await given((_, response) => void response.writeHead(status).end('<html>'))
  for (let i = 0; i < CALLS; i++) expect(await ask()).toEqual([status, undefined])
  expect(upstream.breaker.isOpen).toBe(isOpen)
})

test('a password may have a percent sign in it', async () => {
  const seen: unknown[] = []
  const { ask } = await given(
    ({ headers }, response) => {
      seen.push(headers.authorization)
      response.end()
    },
    '',
    'user:50%&%41@',
  )
  expect(await ask()).toEqual([200, undefined])
  expect(seen).toEqual([`Basic ${Buffer.from('user:50%&A').toString('base64')}`])
})
