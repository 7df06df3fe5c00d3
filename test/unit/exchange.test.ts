import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { Exchange, type ExchangeOptions } from '../../api/gateway/exchange.ts'
import { Rival } from '../../api/gateway/rival.ts'
import type { AnswerHandler, UpstreamGroup } from '../../infra/ports/upstreams.ts'

// One call between a client and a node that are both the test's.

const CHUNK = Buffer.alloc(100_000, ' ')

/** A client that takes nothing more than it is told to. */
class Client extends EventEmitter {
  destroyed = false
  isReading = false
  bytes = 0
  writeHead(): void {}
  write(chunk: Buffer): boolean {
    this.bytes += chunk.length
    return this.isReading
  }
  end(): void {}
  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
}

function given(options: Partial<ExchangeOptions> = {}) {
  const client = new Client()
  const seen = { cancelled: 0, flow: 'running', ended: [] as number[] }
  let handler: AnswerHandler | undefined
  const upstream = {
    id: 'a',
    send: (_request: unknown, heard: AnswerHandler) => {
      handler = heard
      return () => void seen.cancelled++
    },
  }
  const group = { countCall: () => {}, choose: () => upstream } as unknown as UpstreamGroup
  new Exchange({
    group,
    request: { verb: 'GET', path: '/', headers: [], body: null, isEndless: false },
    response: client,
    isRepeatable: true,
    expected: { isJson: false, isOwed: false },
    key: undefined,
    isNamed: false,
    isArchival: false,
    hedgeMs: undefined,
    ownHeaders: [],
    bill: { answered: (status) => void seen.ended.push(status), failed: () => {}, streamed: () => {} },
    refuse: () => {},
    ...options,
  })
  const flow = {
    pause: () => {
      seen.flow = 'paused'
    },
    resume: () => {
      seen.flow = 'running'
    },
  }
  handler?.onHeaders(200, {}, flow)
  return { client, seen, node: handler as AnswerHandler }
}

test('a client that takes nothing of a long answer is left in time, and so is its node', async () => {
  const { client, seen, node } = given({ untakenMsMax: 20 })
  node.onData(CHUNK)
  expect(seen.flow).toBe('paused')
  await expect.poll(() => [client.destroyed, seen.cancelled, seen.ended]).toEqual([true, 1, [499]])
})

test('one that takes what it is sent has its time anew', async () => {
  const { client, seen, node } = given({ untakenMsMax: 60_000 })
  for (let i = 0; i < 3; i++) {
    node.onData(CHUNK)
    expect(seen.flow).toBe('paused')
    client.emit('drain')
    expect(seen.flow).toBe('running')
  }
  expect(node.onEnd()).toBe(true)
  expect([client.destroyed, client.bytes, seen.cancelled, seen.ended]).toEqual([false, 3 * CHUNK.length, 0, [200]])
})

test.each([
  ['a list of calls', '[{"id":1', ['answer']],
  ['a page', '<html>', ['cancelled', 'fault']],
])('a second node whose long answer begins as %s does is heard only where it is one', (_what, begun, expected) => {
  const heard: string[] = []
  const note = (what: string) => () => void heard.push(what)
  const rival = new Rival('b', { isJson: true, isOwed: true }, { onAnswer: note('answer'), onFault: note('fault') })
  rival.cancel = note('cancelled')
  rival.onHeaders(200, {}, { pause() {}, resume() {} })
  rival.onData(Buffer.from(begun))
  rival.onData(CHUNK)
  expect(heard).toEqual(expected)
})
