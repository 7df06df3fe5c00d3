import { keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import type { TransactionState } from '../../infra/ports/broadcast-node.ts'
import { broadcastForAccount } from '../../processors/validators/broadcast-staking.ts'
import { StakingFollower } from '../../processors/validators/follow-stakings.ts'
import { StakingBook } from '../../processors/validators/staking-book.ts'
import { bytesOf, type Hex } from '../../schemas/eth/hex.ts'
import {
  blockHash,
  CREATED_SLOT,
  depositOf,
  type GivenStaking,
  givenStaking,
  HOUR_BLOCKS,
  keyOf,
  loggedOf,
  signStaking,
} from './given-staking.ts'
import { silentLog } from './silent-log.ts'

const OWN = [depositOf(1), depositOf(2)] as const
const THIRD = depositOf(3)
const FORK_HASH = `0x${'f0'.repeat(32)}`

interface Followed extends GivenStaking {
  readonly raw: Hex
  readonly hash: string
  readonly follower: StakingFollower
  /** Sentences of the log. */
  readonly errors: string[]
  broadcast(raw: string): Promise<unknown>
  /** The chain gets a block, and what it says of the transaction is this. */
  next(state?: Partial<TransactionState>, hash?: string): Promise<void>
}

async function followed(): Promise<Followed> {
  const role = givenStaking([{ account: 'acme', deposits: [...OWN, THIRD] }])
  const raw = await signStaking({ deposits: OWN })
  const broadcast = (text: string) =>
    broadcastForAccount(role.broadcasting, role.chain, {
      chain: 'hoodi',
      account: 'acme',
      txHash: keccak256(text as Hex),
      rawTransaction: text,
      notAfterMs: role.broadcasting.wallNow(),
    })
  await broadcast(raw)
  role.sent.length = 0
  const errors: string[] = []
  const log = { ...silentLog, error: (_: object, sentence: string) => void errors.push(sentence) }
  const follower = new StakingFollower({ ...role.broadcasting, log }, role.chain)
  const hash = keccak256(raw)
  return {
    ...role,
    raw,
    hash,
    follower,
    errors,
    broadcast,
    async next(state = {}, of = hash) {
      role.says.headNumber++
      const { headNumber: number, finalNumber: finalBlockNumber } = role.says
      const head = { number, hash: blockHash(number) }
      role.says.states.set(of, { isKnown: true, included: undefined, nonce: 0, head, finalBlockNumber, ...state })
      await follower.look()
    },
  }
}

/** A block of the chain with one transaction in it. */
function block(number: number, txHash: string, succeeded: boolean) {
  const columns = { succeeded: Uint8Array.of(succeeded ? 1 : 0), hash: bytesOf(txHash) }
  return { header: { hash: blockHash(number) }, columns } as never
}

const inBlock = (blockNumber: number, hash = blockHash(blockNumber)) => ({
  isKnown: true,
  included: { blockNumber, blockHash: hash },
  nonce: 1,
})

describe('a staking transaction that was broadcast', () => {
  test('is left alone while a node has it', async () => {
    const role = await followed()
    for (let i = 0; i < 20; i++) await role.next()
    expect([role.sent, role.ends()]).toEqual([[], []])
  })

  test('is sent again when no node has it, at once and then after some blocks', async () => {
    const role = await followed()
    await role.next({ isKnown: false })
    expect(role.sent).toEqual([role.raw])
    for (let i = 0; i < 3; i++) await role.next({ isKnown: false })
    expect(role.sent).toHaveLength(1)
    await role.next({ isKnown: false })
    expect(role.sent).toHaveLength(2)
  })

  test.each<[string, Partial<GivenStaking['says']>]>([
    ['the deposit contract', { deposits: [loggedOf(OWN[0])] }],
    ['the registry', { registered: [keyOf(OWN[1])] }],
  ])('is never sent again when %s has one of its validators by another one', async (_, deposited) => {
    const role = await followed()
    Object.assign(role.says, deposited)
    await role.next({ isKnown: false })
    expect([role.sent, role.ends()]).toEqual([[], []])
    // The node's newest blocks have the deposit no more.
    Object.assign(role.says, { deposits: [], registered: [] })
    for (let i = 0; i < 8; i++) await role.next({ isKnown: false })
    expect(role.sent).toEqual([])
    expect(role.errors).toEqual([expect.stringMatching(/not sent again/)])
  })

  test('is not sent again by who has begun hours after one of its validators was deposited by another one', async () => {
    const role = await followed()
    Object.assign(role.says, { deposits: [loggedOf(OWN[0])], depositDepth: 1_000, headSlot: CREATED_SLOT + 1_100 })
    for (let i = 0; i < 8; i++) await role.next({ isKnown: false })
    expect([role.sent, role.ends()]).toEqual([[], []])
    expect(role.errors).toEqual([expect.stringMatching(/not sent again/)])
  })

  test('is not sent again when one was deposited while no look needed to know, however long', async () => {
    const role = await followed()
    role.says.headSlot = CREATED_SLOT + 100
    await role.next({ isKnown: false })
    expect(role.sent).toHaveLength(1)
    role.says.headNumber += 3 * HOUR_BLOCKS
    role.says.headSlot += 3 * HOUR_BLOCKS
    Object.assign(role.says, { deposits: [loggedOf(OWN[0])], depositDepth: 3 * HOUR_BLOCKS })
    await role.next({ isKnown: false })
    expect(role.sent).toHaveLength(1)
  })

  test('is not looked at again before there is another block', async () => {
    const role = await followed()
    await role.next({ isKnown: false })
    for (let i = 0; i < 20; i++) await role.follower.look()
    expect(role.sent).toHaveLength(1)
  })

  test('is mined when a final block has it, and not before', async () => {
    const role = await followed()
    role.says.blocks.set(102, block(102, role.hash, true))
    await role.next(inBlock(102))
    await role.next(inBlock(102))
    expect(role.ends()).toEqual([])
    role.says.finalNumber = 102
    await role.next(inBlock(102))
    expect(role.ends()).toMatchObject([{ txHash: role.hash, status: 'mined', blockNumber: 102 }])
    await role.next(inBlock(102))
    expect(role.ends()).toHaveLength(1)
    expect(await role.broadcast(role.raw)).toEqual({ status: 'sent' })
    expect(await role.broadcast(await signStaking({ deposits: OWN, nonce: 1 }))).toMatchObject({
      reason: 'already_deposited',
    })
  })

  test('has failed when a final block says so, and another nonce is taken', async () => {
    const role = await followed()
    const other = await signStaking({ deposits: OWN, nonce: 1 })
    role.says.blocks.set(102, block(102, role.hash, false))
    await role.next(inBlock(102))
    expect(await role.broadcast(other)).toMatchObject({ reason: 'pending_transaction' })
    role.says.finalNumber = 103
    await role.next(inBlock(102))
    expect(role.ends()).toMatchObject([{ status: 'failed' }])
    expect(await role.broadcast(other)).toEqual({ status: 'sent' })
  })

  test("is not believed to be in a block that is not the chain's, or that does not have it", async () => {
    const role = await followed()
    role.says.blocks.set(102, block(102, role.hash, true)).set(103, block(103, FORK_HASH, true))
    role.says.finalNumber = 110
    await role.next(inBlock(102, FORK_HASH))
    await role.next(inBlock(103))
    await role.next(inBlock(104))
    expect(role.ends()).toEqual([])
  })

  test('that a reorg took out of the chain is sent again, and mined in another block', async () => {
    const role = await followed()
    await role.next(inBlock(102))
    await role.next({ isKnown: false })
    expect(role.sent).toEqual([role.raw])
    role.says.blocks.set(105, block(105, role.hash, true))
    role.says.finalNumber = 105
    await role.next(inBlock(105))
    expect(role.ends()).toMatchObject([{ status: 'mined', blockNumber: 105 }])
  })

  test('is replaced when its nonce is used by a final block, which no reorg has changed', async () => {
    const role = await followed()
    await role.next({ isKnown: false, nonce: 1 })
    role.says.blocks.set(101, { header: { hash: FORK_HASH }, columns: {} as never })
    role.says.finalNumber = 101
    await role.next({ isKnown: false, nonce: 1 })
    expect(role.ends()).toEqual([])
    role.says.blocks.set(102, block(102, FORK_HASH, true))
    await role.next({ isKnown: false, nonce: 1 })
    expect(role.ends()).toEqual([])
    role.says.finalNumber = 102
    await role.next({ isKnown: false, nonce: 1 })
    expect(role.ends()).toMatchObject([{ status: 'replaced' }])
    expect(role.sent).toEqual([])
    expect(await role.broadcast(await signStaking({ deposits: OWN, nonce: 1 }))).toEqual({ status: 'sent' })
  })

  test('is not replaced by what one look has missed', async () => {
    const role = await followed()
    await role.next({ isKnown: false, nonce: 1 })
    await role.next(inBlock(101))
    role.says.blocks.set(101, block(101, role.hash, true))
    role.says.finalNumber = 101
    await role.next({ isKnown: false, nonce: 1 })
    expect(role.ends()).toEqual([])
    await role.next(inBlock(101))
    expect(role.ends()).toMatchObject([{ status: 'mined', blockNumber: 101 }])
  })

  test('is not replaced when its validators are deposited: it may have been mined', async () => {
    const role = await followed()
    role.says.deposits = [loggedOf(OWN[0])]
    role.says.blocks.set(101, block(101, FORK_HASH, true))
    await role.next({ isKnown: false, nonce: 1 })
    role.says.finalNumber = 101
    for (let i = 0; i < 3; i++) await role.next({ isKnown: false, nonce: 1 })
    // The node's newest blocks have the deposit no more.
    role.says.deposits = []
    for (let i = 0; i < 3; i++) await role.next({ isKnown: false, nonce: 1 })
    expect(role.ends()).toEqual([])
    expect(role.errors).toEqual([expect.stringMatching(/not sent again/)])
  })

  test('is superseded when all of its validators are deposited by another for good, and nobody deposits them again', async () => {
    const role = await followed()
    const finalBlock = { blockNumber: 60 }
    role.says.deposits = [loggedOf(OWN[0], finalBlock), loggedOf(OWN[1], finalBlock)]
    await role.next({ isKnown: false })
    expect(role.ends()).toEqual([]) // a reorg may take them back
    role.says.finalNumber = 60
    role.says.deposits = [loggedOf(OWN[0], finalBlock)]
    await role.next({ isKnown: false })
    expect(role.ends()).toEqual([]) // with the other one it could still be mined
    role.says.registered = [keyOf(OWN[1])]
    await role.next({ isKnown: false })
    expect(role.ends()).toMatchObject([{ status: 'superseded', deposited: OWN.map(keyOf) }])
    expect([role.sent, role.errors]).toEqual([[], [expect.stringMatching(/not sent again/)]])
    await role.next({ isKnown: false })
    expect(role.ends()).toHaveLength(1)
    // The node's newest blocks have the deposits no more, and a long queue keeps them from the registry.
    Object.assign(role.says, { deposits: [], registered: [] })
    const refused = { reason: 'already_deposited' }
    expect(await role.broadcast(await signStaking({ deposits: OWN, nonce: 1 }))).toMatchObject(refused)
    expect(await role.broadcast(role.raw)).toMatchObject(refused)
    expect(await role.broadcast(await signStaking({ deposits: [THIRD], nonce: 1 }))).toEqual({ status: 'sent' })
  })

  test('is superseded when its nonce is used and some of its validators are deposited: the others may be', async () => {
    const role = await followed()
    role.says.deposits = [loggedOf(OWN[0], { blockNumber: 60 })]
    role.says.blocks.set(101, block(101, FORK_HASH, true))
    await role.next({ isKnown: false, nonce: 1 })
    role.says.finalNumber = 101
    await role.next({ isKnown: false, nonce: 1 })
    expect(role.ends()).toMatchObject([{ status: 'superseded', deposited: [keyOf(OWN[0])] }])
    Object.assign(role.says, { deposits: [] })
    expect(await role.broadcast(await signStaking({ deposits: [OWN[0]], nonce: 1 }))).toMatchObject({
      reason: 'already_deposited',
    })
    expect(await role.broadcast(await signStaking({ deposits: [OWN[1]], nonce: 1 }))).toEqual({ status: 'sent' })
  })

  test('is not superseded by its own deposits, which its node has not in a block yet', async () => {
    const role = await followed()
    const own = { blockNumber: 60, transactionHash: role.hash }
    role.says.deposits = [loggedOf(OWN[0], own), loggedOf(OWN[1], own)]
    role.says.finalNumber = 60
    for (let i = 0; i < 3; i++) await role.next({ isKnown: false })
    expect([role.ends(), role.sent, role.errors]).toEqual([[], [], []])
    role.says.blocks.set(60, block(60, role.hash, true))
    await role.next(inBlock(60))
    expect(role.ends()).toMatchObject([{ status: 'mined' }])
  })

  test('is not superseded by its own deposits, which the registry has before its node has a block of them', async () => {
    const role = await followed()
    role.says.registered = OWN.map(keyOf)
    for (let i = 0; i < 3; i++) await role.next({ isKnown: false })
    expect([role.ends(), role.sent]).toEqual([[], []])
    const own = { blockNumber: 60, transactionHash: role.hash }
    role.says.deposits = OWN.map((deposit) => loggedOf(deposit, own))
    role.says.finalNumber = 60
    for (let i = 0; i < 3; i++) await role.next({ isKnown: false, nonce: 1 })
    expect(role.ends()).toEqual([])
    role.says.blocks.set(60, block(60, role.hash, true))
    await role.next(inBlock(60))
    expect(role.ends()).toMatchObject([{ status: 'mined' }])
  })

  test('is not replaced when its own deposits were seen, whatever its node says of its receipt', async () => {
    const role = await followed()
    const own = { blockNumber: 60, transactionHash: role.hash }
    role.says.deposits = OWN.map((deposit) => loggedOf(deposit, own))
    await role.next({ isKnown: false, nonce: 1 })
    role.says.finalNumber = 101
    role.says.blocks.set(101, block(101, FORK_HASH, true))
    await role.next({ isKnown: false, nonce: 1 })
    // The node's newest blocks have them no more.
    role.says.deposits = []
    for (let i = 0; i < 3; i++) await role.next({ isKnown: false, nonce: 1 })
    expect([role.ends(), role.errors]).toEqual([[], []])
  })

  test('is sent again when a reorg takes back its own deposits', async () => {
    const role = await followed()
    role.says.deposits = OWN.map((deposit) => loggedOf(deposit, { transactionHash: role.hash }))
    await role.next({ isKnown: false })
    role.says.deposits = []
    await role.next({ isKnown: false })
    expect(role.sent).toEqual([role.raw])
  })

  test('is superseded when the registry has its validators by deposits of other data', async () => {
    const role = await followed()
    const otherwise = { blockNumber: 60, depositDataRoot: FORK_HASH }
    role.says.deposits = OWN.map((deposit) => loggedOf(deposit, otherwise))
    role.says.finalNumber = 60
    await role.next({ isKnown: false })
    expect(role.ends()).toEqual([]) // a stranger's, with a signature that may be none
    // Months later; the newest blocks have them no more.
    Object.assign(role.says, { registered: OWN.map(keyOf), deposits: [] })
    for (let i = 0; i < 4; i++) await role.next({ isKnown: false })
    expect(role.ends()).toMatchObject([{ status: 'superseded', deposited: OWN.map(keyOf) }])
  })

  test('ends with the replacement that is mined', async () => {
    const role = await followed()
    const raw = await signStaking({ deposits: OWN, tip: 50n })
    await role.broadcast(raw)
    role.says.blocks.set(102, block(102, keccak256(raw), true))
    role.says.finalNumber = 102
    const { headNumber } = role.says
    const head = { number: headNumber, hash: blockHash(headNumber) }
    role.says.states.set(keccak256(raw), { ...inBlock(102), head, finalBlockNumber: 102 })
    await role.next({ isKnown: false, nonce: 1 })
    const ends = Object.fromEntries(role.ends().map(({ txHash, status }) => [txHash, status]))
    expect(ends).toEqual({ [role.hash]: 'replaced', [keccak256(raw)]: 'mined' })
  })

  test('is looked after though no node answers for another one, which is looked at as soon as one does', async () => {
    const role = await followed()
    const second = await signStaking({ deposits: [THIRD], nonce: 1 })
    await role.broadcast(second)
    role.sent.length = 0
    role.says.states.set(role.hash, 'unanswered')
    await role.follower.look()
    expect(role.sent).toEqual([second])
    role.says.states.delete(role.hash)
    await role.follower.look()
    expect(role.sent).toEqual([second, role.raw])
  })

  test('is looked after again when the nodes are back, and whoever reads the log goes on from there', async () => {
    const role = await followed()
    role.says.isAway = true
    await expect(role.follower.look()).rejects.toMatchObject({ code: 'node_unreachable' })
    expect(role.sent).toEqual([])
    role.says.isAway = false
    const book = new StakingBook()
    for (const event of role.told) book.add(event)
    await new StakingFollower({ ...role.broadcasting, book }, role.chain).look()
    expect(role.sent).toEqual([role.raw])
  })
})
