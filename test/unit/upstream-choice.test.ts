import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AnswerHandler, UpstreamRequest } from '../../infra/ports/upstreams.ts'
import { Breaker } from '../../infra/upstreams/breaker.ts'
import { HttpUpstream } from '../../infra/upstreams/http-upstream.ts'
import { RetryBudget } from '../../infra/upstreams/retry-budget.ts'
import { HttpUpstreamGroup } from '../../infra/upstreams/upstream-group.ts'
import { UpstreamHealth } from '../../infra/upstreams/upstream-health.ts'
import { readValue } from '../../schemas/protocols/probe-value.ts'

const LAG_MAX = 6

test('an upstream that is left out is so for one reason that people are told', () => {
  const health = new UpstreamHealth()
  const fault = () => health.faultAt(LAG_MAX)
  expect(fault()).toBe('it was not asked yet')
  health.note(undefined)
  expect(fault()).toBe('it does not answer')
  health.note({ head: 5, isRightChain: false })
  expect(fault()).toBe('it follows another chain')
  health.note({ head: 5, isRightChain: true })
  health.compare(5)
  expect(fault()).toBeUndefined()
  health.compare(5 + LAG_MAX)
  expect(fault()).toBe('it is behind the others')
  for (const best of [6, 7]) health.compare(best)
  expect(fault()).toBe('it stands still')
  for (const found of [undefined, undefined]) health.note(found)
  expect(fault()).toBe('it does not answer')
})

describe('a breaker', () => {
  test('stays closed while fewer than half of the calls fail', () => {
    const breaker = new Breaker()
    for (let i = 0; i < 100; i++) {
      breaker.begin()
      breaker.end(i % 5 < 3, i)
    }
    expect(breaker.allows(100)).toBe(true)
  })

  test('opens where they fail, lets one at a time try after a while, and closes when three have succeeded', () => {
    const breaker = new Breaker()
    for (let i = 0; i < 5; i++) breaker.end(false, 1_000)
    expect([breaker.allows(1_000), breaker.allows(30_999), breaker.allows(31_000)]).toEqual([false, false, true])
    breaker.begin()
    expect(breaker.allows(31_000)).toBe(false)
    breaker.end(true, 31_000)
    for (const nowMs of [31_001, 31_002]) {
      expect(breaker.allows(nowMs)).toBe(true)
      breaker.begin()
      breaker.end(true, nowMs)
    }
    breaker.begin()
    breaker.begin()
    expect(breaker.allows(31_003)).toBe(true)
  })

  test('opens again when a trial fails, and earlier tries where something else shows that the upstream answers', () => {
    const breaker = new Breaker()
    for (let i = 0; i < 5; i++) breaker.end(false, 0)
    breaker.endRest(10)
    expect(breaker.allows(10)).toBe(true)
    breaker.begin()
    breaker.end(false, 11)
    expect([breaker.allows(30_010), breaker.allows(30_011)]).toEqual([false, true])
  })

  test('hears nothing from a call that its client gave up', () => {
    const breaker = new Breaker()
    for (let i = 0; i < 5; i++) breaker.end(false, 0)
    breaker.begin()
    breaker.forget()
    expect(breaker.allows(30_000)).toBe(true)
  })
})

test.each([40, 100, 1_000, 10_000])(
  'of %i calls that all fail, at most a fifth are sent again, whatever was saved before',
  (calls) => {
    const budget = new RetryBudget()
    for (let i = 0; i < 1_000; i++) budget.earn()
    let sent = 0
    for (let i = 0; i < calls; i++) {
      budget.earn()
      sent++
      while (budget.take()) {
        sent++
        budget.failed()
      }
    }
    expect(sent / calls).toBeLessThanOrEqual(1.2)
    expect(sent).toBeGreaterThan(calls)
  },
)

test('a node that dies with fifty calls at once loses none, where another one answers what is sent again', () => {
  const budget = new RetryBudget()
  expect(Array.from({ length: 50 }, () => budget.take())).not.toContain(false)
})

test('what is slow is sent again by what is saved beyond that for failures, a few at a time, from the first call on', () => {
  const budget = new RetryBudget()
  let hedges = 0
  while (budget.takeForSlow()) hedges++
  expect(hedges).toBe(5)
  for (let i = 0; i < hedges; i++) budget.endSlow()
  while (budget.takeForSlow()) {
    hedges++
    budget.endSlow()
  }
  let retries = 0
  while (budget.take()) retries++
  expect([hedges, retries]).toEqual([25, 25])
})

describe('the health of an upstream', () => {
  const healthOf = (...found: (number | undefined)[]): UpstreamHealth => {
    const health = new UpstreamHealth()
    for (const head of found) health.note(head === undefined ? undefined : { head, isRightChain: true })
    return health
  }

  test('is not known before it has shown its chain', () => {
    expect(new UpstreamHealth().isWell(LAG_MAX)).toBe(false)
    expect(healthOf(1).isWell(LAG_MAX)).toBe(true)
  })

  test('is bad on another chain, from the probe on that shows it, and good again when it is back', () => {
    const health = healthOf(5)
    health.note({ head: 6, isRightChain: false })
    expect([health.isRightChain, health.isWell(LAG_MAX)]).toEqual([false, false])
    health.note({ head: 7, isRightChain: true })
    expect(health.isWell(LAG_MAX)).toBe(true)
  })

  test('is bad when two probes in a row have failed', () => {
    expect([healthOf(5, undefined).isWell(LAG_MAX), healthOf(5, undefined, undefined).isWell(LAG_MAX)]).toEqual([
      true,
      false,
    ])
    expect(healthOf(5, undefined, undefined, 6).isWell(LAG_MAX)).toBe(true)
  })

  test('is bad as many blocks behind the best as its chain allows', () => {
    const health = healthOf(100)
    health.compare(105)
    expect(health.isWell(LAG_MAX)).toBe(true)
    health.compare(106)
    expect(health.isWell(LAG_MAX)).toBe(false)
  })

  test('is bad when it stands still while the others advance twice, and good when it moves', () => {
    const health = healthOf(100)
    health.compare(100)
    for (const best of [101, 102]) {
      health.note({ head: 100, isRightChain: true })
      health.compare(best)
    }
    expect(health.isWell(LAG_MAX)).toBe(false)
    health.note({ head: 101, isRightChain: true })
    health.compare(102)
    expect(health.isWell(LAG_MAX)).toBe(true)
  })

  test('is good where a chain stands still for everybody', () => {
    const health = healthOf(100, 100, 100, 100)
    for (let i = 0; i < 5; i++) health.compare(100)
    expect(health.isWell(LAG_MAX)).toBe(true)
  })
})

describe('a group', () => {
  const memberOf = (port: number) => ({
    upstream: new HttpUpstream({ url: `http://127.0.0.1:${port}`, headers: {}, weight: 1 }, 'secret'),
    health: new UpstreamHealth(),
  })
  const groupOf = (...heads: number[]) => {
    const members = heads.map((head, i) => {
      const member = memberOf(10_000 + i)
      member.health.note({ head, isRightChain: head >= 0 })
      member.health.compare(Math.max(...heads))
      return member
    })
    return { members, group: new HttpUpstreamGroup(members, LAG_MAX) }
  }
  const KEYS = Array.from({ length: 300 }, (_, i) => `key ${i}`)

  test('asks the ones that are well, the others only where there is none else, and never one of another chain', () => {
    const { members, group } = groupOf(100, 10, -1)
    const ids = members.map(({ upstream }) => upstream.id)
    for (let i = 0; i < 20; i++) expect(group.choose({ tried: [] })?.id).toBe(ids[0])
    expect(group.choose({ tried: [ids[0] as string] })?.id).toBe(ids[1])
    expect(group.choose({ tried: ids.slice(0, 2) })).toBeUndefined()
  })

  test('asks one that is well though calls to it fail rather than one that lags, and any other that is well rather than it', () => {
    const { members, group } = groupOf(100, 10, 100)
    const [failing, , well] = members.map(({ upstream }) => upstream)
    for (let i = 0; i < 10; i++) failing?.breaker.end(false, performance.now())
    expect(failing?.breaker.isOpen).toBe(true)
    for (let i = 0; i < 20; i++) expect(group.choose({ tried: [] })?.id).toBe(well?.id)
    for (let i = 0; i < 20; i++) expect(group.choose({ tried: [well?.id ?? ''] })?.id).toBe(failing?.id)
  })

  test.each([
    [[], undefined],
    [[7], 7],
    [[7, 1_000_000], 1_000_000],
    [[100, 102, 1_000_000], 102],
    [[100, 102, 101, 102], 102],
    [[100, 102, -1], 102],
  ])('of nodes at %j has its newest block at %s', (heads, head) => {
    expect(groupOf(...heads).group.head).toBe(head)
  })

  test('leaves none of three out for one that has a block of another time', () => {
    const { members, group } = groupOf(100, 102, 1_000_000)
    for (const { health } of members) health.compare(group.head as number)
    expect(members.map(({ health }) => health.faultAt(LAG_MAX))).toEqual([undefined, undefined, undefined])
    const asked = new Set(Array.from({ length: 200 }, () => group.choose({ tried: [] })?.id))
    expect(asked.size).toBe(3)
  })

  test('asks none of three for the newest block that has one of another time, and believes it nothing', () => {
    const { members, group } = groupOf(100, 102, 1_000_000)
    for (const { health } of members) health.compare(group.head as number)
    const [one, other, wrong] = members.map(({ upstream }) => upstream.id) as [string, string, string]
    expect(group.tellsHead(wrong, 1_000_000)).toBe(false)
    const asked = new Set(Array.from({ length: 200 }, () => group.choose({ tried: [], isOfHead: true })?.id))
    expect(asked).toEqual(new Set([one, other]))
    expect(group.tellsHead(other, 103)).toBe(true)
    expect(group.tellsHead(one, 102)).toBe(false)
    group.headGoesBack(1_000_000)
    expect(group.tellsHead(one, 103)).toBe(true)
    expect(group.choose({ tried: [one, other], isOfHead: true })?.id, 'nobody else is left').toBe(wrong)
  })

  test('believes what one of three has told when another one has come so far', () => {
    const { members, group } = groupOf(100, 100, 100)
    const [one, other] = members.map(({ upstream }) => upstream.id) as [string, string]
    expect(group.tellsHead(one, 200)).toBe(false)
    expect(group.tellsHead(other, 201)).toBe(true)
    expect(group.tellsHead(one, 201)).toBe(true)
  })

  test('gives a key one upstream, all of them equal shares, and another one only to keys of one that is left out', () => {
    const { members, group } = groupOf(100, 100, 100)
    const before = KEYS.map((key) => group.choose({ tried: [], key })?.id)
    expect(KEYS.map((key) => group.choose({ tried: [], key })?.id)).toEqual(before)
    for (const { upstream } of members) {
      const share = before.filter((id) => id === upstream.id).length / KEYS.length
      expect(share).toBeGreaterThan(0.2)
      expect(share).toBeLessThan(0.5)
    }
    const out = members[1]?.upstream.id
    members[1]?.health.note({ head: 100, isRightChain: false })
    const after = KEYS.map((key) => group.choose({ tried: [], key })?.id)
    expect(after.every((id, i) => id !== out && (before[i] === out || before[i] === id))).toBe(true)
  })
})

const REQUEST: UpstreamRequest = { verb: 'GET', path: '/', headers: [], body: null, isEndless: false }
const DEAF: AnswerHandler = { onHeaders: () => {}, onData: () => {}, onEnd: () => true, onFault: () => {} }

function open(weight: number, i: number, url = `http://127.0.0.1:${9 + i}`) {
  const upstream = new HttpUpstream({ url, headers: {}, weight }, 'secret')
  const health = new UpstreamHealth()
  health.note({ head: 100, isRightChain: true })
  return { upstream, health }
}

/** Until the test has ended. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** Takes connections and says nothing. Each number is another address of it. */
async function openSilentNode() {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: (i: number) => `http://127.0.0.1:${port}/${i}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

describe('a weight', () => {
  const WEIGHTS = [1, 3]

  test('is the share of keys that an upstream has', () => {
    const members = WEIGHTS.map((weight, i) => open(weight, i))
    const group = new HttpUpstreamGroup(members, LAG_MAX)
    const keys = Array.from({ length: 2_000 }, (_, i) => `key ${i}`)
    const chosen = keys.map((key) => group.choose({ tried: [], key })?.id)
    const share = chosen.filter((id) => id === members[1]?.upstream.id).length / keys.length
    expect(share).toBeGreaterThan(0.7)
    expect(share).toBeLessThan(0.8)
  })

  test('is the share of calls that come one by one', () => {
    const members = WEIGHTS.map((weight, i) => open(weight, i))
    const group = new HttpUpstreamGroup(members, LAG_MAX)
    const chosen = Array.from({ length: 2_000 }, () => group.choose({ tried: [] })?.id)
    const share = chosen.filter((id) => id === members[1]?.upstream.id).length / chosen.length
    expect(share).toBeGreaterThan(0.7)
    expect(share).toBeLessThan(0.8)
  })

  test('is the share of calls under way at which an upstream is as good as another one', async () => {
    stopClock()
    await using node = await openSilentNode()
    const members = WEIGHTS.map((weight, i) => open(weight, i, node.url(i)))
    const group = new HttpUpstreamGroup(members, LAG_MAX)
    const under = Array.from({ length: 40 }, () => {
      const upstream = group.choose({ tried: [] })
      const giveUp = upstream?.send(REQUEST, DEAF)
      return { id: upstream?.id, giveUp }
    })
    const heavy = under.filter(({ id }) => id === members[1]?.upstream.id).length
    expect(heavy).toBe(30)
    for (const { giveUp } of under) giveUp?.()
  })
})

test('a node that has fallen silent is asked no more as soon as it is silent for longer than the other takes', async () => {
  stopClock()
  await using node = await openSilentNode()
  const members = [0, 1].map((i) => open(1, i, node.url(i)))
  const group = new HttpUpstreamGroup(members, LAG_MAX)
  const giveUp = members[0]?.upstream.send(REQUEST, DEAF)
  vi.advanceTimersByTime(150)
  const chosen = Array.from({ length: 100 }, () => group.choose({ tried: [] })?.id)
  expect(new Set(chosen)).toEqual(new Set([members[1]?.upstream.id]))
  giveUp?.()
})

test.each([
  ['0x1A', 'hex', '26'],
  [26, 'hex', undefined],
  ['26', 'number', '26'],
  [26, 'number', '26'],
  ['0026', 'number', '26'],
  ['main', 'number', undefined],
  ['main', 'text', 'main'],
  [{}, 'text', undefined],
  [null, 'number', undefined],
] as const)('%j as %s is %s', (value, as, text) => {
  expect(readValue(value, as)).toBe(text)
})
