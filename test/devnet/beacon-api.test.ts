import { getClient } from '@lodestar/api'
import { chainConfigFromJson, createChainForkConfig } from '@lodestar/config'
import { ssz } from '@lodestar/types'
import { createParser } from 'eventsource-parser'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { GENESIS_TIME_SEC, openShortDevnet, SLASHED_PROPOSER } from './short-history.ts'

const HEAD_SLOT = 230

let devnet: Devnet
let client: ReturnType<typeof getClient>
beforeAll(async () => {
  devnet = await openShortDevnet()
  await devnet.advanceTo(HEAD_SLOT)
  const spec = (await getJson('/eth/v1/config/spec')).body.data as Record<string, unknown>
  client = getClient({ baseUrl: devnet.beaconUrl }, { config: createChainForkConfig(chainConfigFromJson(spec)) })
})
afterAll(() => devnet[Symbol.asyncDispose]())

async function getJson(path: string, init: RequestInit = {}) {
  const response = await fetch(`${devnet.beaconUrl}${path}`, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

function post(path: string, body: unknown) {
  return getJson(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

function record(slot: number) {
  const found = devnet.history.slot(slot)
  if (found === undefined) throw new Error(`no slot ${slot}`)
  return found
}

test('a client of the specification learns the network', async () => {
  const spec = (await client.config.getSpec()).value() as Record<string, unknown>
  expect(spec.CONFIG_NAME).toBe('devnet')
  expect(spec.SECONDS_PER_SLOT).toBe('12')
  expect(spec.SLOTS_PER_EPOCH).toBe('32')
  expect(spec.FULU_FORK_EPOCH).toBe('0')
  expect(spec.GLOAS_FORK_EPOCH).toBe('18446744073709551615')
  expect(spec.DEPOSIT_CHAIN_ID).toBe(String(devnet.chainId))
  const genesis = (await client.beacon.getGenesis()).value()
  expect(genesis.genesisTime).toBe(GENESIS_TIME_SEC)
  expect(hexOf(genesis.genesisForkVersion)).toBe('0x10e70000')
  const contract = (await client.config.getDepositContract()).value()
  expect([contract.chainId, hexOf(contract.address)]).toEqual([devnet.chainId, devnet.depositContractAddress])
  expect((await client.config.getForkSchedule()).value().length).toBe(7)
  expect((await client.node.getNodeVersion()).value().version).toMatch(/^epochline-devnet/)
  expect((await client.node.getSyncingStatus()).value()).toMatchObject({ headSlot: HEAD_SLOT, isSyncing: false })
  expect((await client.node.getHealth()).status).toBe(200)
})

test('blocks are served by slot, root and name, as JSON and as SSZ, with the same root', async () => {
  const { block } = record(100)
  const bySlot = await client.beacon.getBlockV2({ blockId: 100 })
  expect(hexOf(ssz.fulu.BeaconBlock.hashTreeRoot(bySlot.value().message as never))).toBe(block?.root)
  expect(bySlot.meta()).toMatchObject({ version: 'fulu', finalized: true, executionOptimistic: false })
  const json = await getJson(`/eth/v2/beacon/blocks/${block?.root}`)
  expect(json.headers.get('eth-consensus-version')).toBe('fulu')
  expect(json.body.data).toEqual(ssz.fulu.SignedBeaconBlock.toJson(bySlot.value() as never))
  const head = (await client.beacon.getBlockHeader({ blockId: 'head' })).value()
  expect([head.header.message.slot, hexOf(head.root)]).toEqual([
    record(HEAD_SLOT).head.slot,
    record(HEAD_SLOT).head.root,
  ])
  expect(hexOf(ssz.phase0.BeaconBlockHeader.hashTreeRoot(head.header.message))).toBe(hexOf(head.root))
  const genesis = (await client.beacon.getBlockRoot({ blockId: 'genesis' })).value()
  expect(hexOf(genesis.root)).toBe(devnet.history.genesisBlock.root)
  const { finalized } = devnet.history.head.finality
  expect(hexOf((await client.beacon.getBlockRoot({ blockId: 'finalized' })).value().root)).toBe(finalized.root)
  const headers = (await client.beacon.getBlockHeaders({ slot: 100 })).value()
  expect(headers.map((header) => [hexOf(header.root), header.canonical])).toEqual([[block?.root, true]])
})

test('an orphaned block stays readable by root, and its slot has no canonical block', async () => {
  const [orphan] = devnet.history.blocksOfSlot(50)
  expect((await getJson('/eth/v2/beacon/blocks/50')).status).toBe(404)
  const header = await getJson(`/eth/v1/beacon/headers/${orphan?.root}`)
  expect([header.status, header.body.data.canonical, header.body.finalized]).toEqual([200, false, false])
  const bySlot = await getJson('/eth/v1/beacon/headers?slot=50')
  expect(bySlot.body.data.map((each: { root: string }) => each.root)).toEqual([orphan?.root])
})

test('states answer as of their slot, with or without a block', async () => {
  const missed = 20
  expect(record(missed).block).toBeUndefined()
  expect(hexOf((await client.beacon.getStateRoot({ stateId: missed })).value().root)).toBe(record(missed).stateRoot)
  const fork = (await client.beacon.getStateFork({ stateId: 'head' })).value()
  expect([hexOf(fork.currentVersion), fork.epoch]).toEqual(['0x10e70006', 0])
  const finality = (await client.beacon.getStateFinalityCheckpoints({ stateId: 'head' })).value()
  expect(hexOf(finality.finalized.root)).toBe(devnet.history.head.finality.finalized.root)
  const all = (await client.beacon.getStateValidators({ stateId: 'head' })).value()
  expect(all.map((each) => each.balance)).toEqual([...devnet.history.head.balances])
  const ids = [hexOf(pubkeyOf(3)), 7, 9_999]
  const some = (await client.beacon.postStateValidators({ stateId: 100, validatorIds: ids })).value()
  expect(some.map((each) => [each.index, each.status])).toEqual([
    [3, 'active_ongoing'],
    [7, 'active_ongoing'],
  ])
  const slashed = (
    await client.beacon.getStateValidators({ stateId: 'head', statuses: ['active_slashed' as never] })
  ).value()
  expect(slashed.map((each) => each.index)).toContain(SLASHED_PROPOSER)
  const balances = (await client.beacon.postStateValidatorBalances({ stateId: 100, validatorIds: [3, 5] })).value()
  expect(balances).toEqual([3, 5].map((index) => ({ index, balance: record(100).balances[index] })))
  const root = record(100).stateRoot
  expect((await client.beacon.getStateValidatorBalances({ stateId: root, validatorIds: [3] })).value()).toEqual([
    balances[0],
  ])
  const sync = (await client.beacon.getEpochSyncCommittees({ stateId: 'head' })).value()
  expect([sync.validators.length, sync.validatorAggregates.length]).toEqual([512, 4])
  expect((await client.beacon.getPendingDeposits({ stateId: 6 })).value().length).toBe(1)
  expect((await client.beacon.getPendingPartialWithdrawals({ stateId: 'head' })).value()).toEqual([])
  expect((await client.beacon.getPendingConsolidations({ stateId: 'head' })).value()).toEqual([])
  const state = await client.debug.getStateV2({ stateId: 100 })
  expect(hexOf(ssz.fulu.BeaconState.hashTreeRoot(state.value() as never))).toBe(root)
})

test('rewards are answered per epoch and per block', async () => {
  const epoch = (await client.beacon.getAttestationsRewards({ epoch: 2, validatorIds: [0, 12] })).value()
  const known = devnet.history.attestationRewards(2)
  expect(
    epoch.totalRewards.map((reward) => [reward.validatorIndex, reward.head, reward.target, reward.source]),
  ).toEqual([0, 12].map((i) => [i, known?.head[i], known?.target[i], known?.source[i]]))
  expect(epoch.totalRewards[1]?.source).toBeLessThan(0) // offline
  expect(epoch.idealRewards.find((ideal) => ideal.effectiveBalance === 32e9)?.head).toBeGreaterThan(0)
  const block = (await client.beacon.getBlockRewards({ blockId: 100 })).value()
  expect(block.total).toBe(block.attestations + block.syncAggregate + block.proposerSlashings + block.attesterSlashings)
  const sync = (await client.beacon.getSyncCommitteeRewards({ blockId: 100 })).value()
  expect(new Map(sync.map((each) => [each.validatorIndex, each.reward]))).toEqual(record(100).block?.syncRewards())
  expect((await post('/eth/v1/beacon/rewards/attestations/6', [])).status).toBe(404)
  expect((await post('/eth/v1/beacon/rewards/attestations/5', [])).status).toBe(200)
})

test.each([
  ['GET', '/eth/v2/beacon/blocks/20', 404],
  ['GET', '/eth/v2/beacon/blocks/100000', 404],
  ['GET', `/eth/v2/beacon/blocks/0x${'00'.repeat(32)}`, 404],
  ['GET', '/eth/v2/beacon/blocks/0x12', 400],
  ['GET', '/eth/v2/beacon/blocks/latest', 400],
  ['GET', '/eth/v1/beacon/states/-1/root', 400],
  ['GET', '/eth/v1/beacon/states/100000/root', 404],
  ['GET', '/eth/v1/beacon/states/head/validators?id=bob', 400],
  ['GET', '/eth/v1/beacon/states/head/validators?status=happy', 400],
  ['GET', '/eth/v1/beacon/states/head/validators/9999', 404],
  ['POST', '/eth/v1/beacon/rewards/attestations/soon', 400],
  ['POST', '/eth/v1/beacon/pool/voluntary_exits', 400],
  ['GET', '/eth/v1/events', 400],
  ['GET', '/eth/v1/events?topics=gossip', 400],
  ['GET', '/eth/v9/nothing', 404],
])('%s %s is answered with %i and a message', async (method, path, status) => {
  const answer = method === 'POST' ? await post(path, {}) : await getJson(path)
  expect(answer.status).toBe(status)
  expect(answer.body).toEqual({ code: status, message: expect.any(String) })
})

test('the event stream announces blocks, heads, finality and a reorg in the order of the chain', async () => {
  await using other = await openShortDevnet()
  await other.advanceTo(95)
  const topics = 'topics=head,block&topics=finalized_checkpoint,chain_reorg'
  const response = await fetch(`${other.beaconUrl}/eth/v1/events?${topics}`)
  const seen: { event: string; data: Record<string, string> }[] = []
  const reading = (async () => {
    const parser = createParser({
      onEvent: (each) => seen.push({ event: each.event ?? '', data: JSON.parse(each.data) }),
    })
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      parser.feed(decoder.decode(chunk, { stream: true }))
      if (seen.some((each) => each.event === 'finalized_checkpoint' && each.data.epoch === '2')) return
    }
  })()
  await other.advanceTo(132)
  await reading
  const reorg = seen.findIndex((each) => each.event === 'chain_reorg')
  expect(seen.slice(reorg - 5, reorg + 2).map((each) => [each.event, each.data.slot])).toEqual([
    ['block', '102'],
    ['head', '102'],
    ['block', '103'],
    ['head', '103'],
    ['block', '104'],
    ['chain_reorg', '104'],
    ['head', '104'],
  ])
  expect(seen[reorg]?.data).toMatchObject({
    old_head_block: other.history.blocksOfSlot(103)[0]?.root,
    new_head_block: other.history.slot(104)?.block?.root,
    depth: '2',
    epoch: '3',
    execution_optimistic: false,
  })
  const finalized = seen.find((each) => each.event === 'finalized_checkpoint')?.data.block
  expect(finalized).toBe(other.history.slot(64)?.head.root)
})
