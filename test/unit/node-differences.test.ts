import { expect, test } from 'vitest'
import { differencesOf } from '../../commands/health.ts'
import { NodeGroup } from '../../infra/nodes/node-group.ts'
import { DEFAULT_LIMITS } from '../../infra/nodes/nodes.ts'
import type { NodeStatus } from '../../infra/ports/node-status.ts'
import { silentLog } from './silent-log.ts'

const named = (place: number) => ({
  name: `beacon node ${place}`,
  welcomeFromMs: 0,
  async [Symbol.asyncDispose]() {},
})

test('what a node tells otherwise is counted by what and client, beside how it answers', async () => {
  const nodes = [named(1), named(2)] as const
  const heard: (readonly NodeStatus[])[] = []
  await using group = new NodeGroup({
    ...{ nodes, limits: DEFAULT_LIMITS, log: silentLog, identify: async () => '' },
    onStatus: (status) => heard.push(status),
  })
  group.noteDifference(nodes[1], { what: 'state root', client: 'Nimbus/v1' })
  group.noteDifference(nodes[1], { what: 'state root', client: 'Nimbus/v1' })
  group.noteDifference(nodes[1], { what: 'proposer rewards', client: 'Nimbus/v2' })
  await group.ask('heads', async () => 1) // the first node is up, the second as before
  expect(group.status()).toMatchObject([
    { state: 'up' },
    { state: 'unknown', differences: [{ times: 2 }, { times: 1 }] },
  ])
  expect(group.status()[0]).not.toHaveProperty('differences')
  expect(heard.at(-1)).toEqual(group.status())
  const of = { chain: 'hoodi', node: 'beacon node 2' }
  expect(differencesOf({ nodes: new Map([['hoodi', () => group.status()]]) })).toEqual([
    { ...of, what: 'state root', client: 'Nimbus/v1', times: 2 },
    { ...of, what: 'proposer rewards', client: 'Nimbus/v2', times: 1 },
  ])
})

test('a node that names its client anew each time does not fill the memory', async () => {
  const node = named(1)
  await using group = new NodeGroup({ nodes: [node], limits: DEFAULT_LIMITS, log: silentLog, identify: async () => '' })
  for (let at = 0; at < 100; at++) group.noteDifference(node, { what: 'state root', client: `v${at}` })
  group.noteDifference(node, { what: 'state root', client: 'v0' })
  expect(group.status()[0]?.differences).toHaveLength(16)
  expect(group.status()[0]?.differences?.[0]?.times).toBe(2)
})
