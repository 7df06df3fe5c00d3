import { encodeFunctionData, type Hex, keccak256, parseAbi } from 'viem'
import { beforeAll, describe, expect, test } from 'vitest'
import { openValidatorClient } from '../../infra/key-vault/keymanager.ts'
import { broadcastForAccount, tellEnd } from '../../processors/validators/broadcast-staking.ts'
import type { SentStaking } from '../../processors/validators/sent-stakings.ts'
import { depositDataRoot } from '../../schemas/eth/deposit-data.ts'
import { type CalledDeposit, type StakingContract, TRANSACTION_GAS_MAX } from '../../schemas/eth/staking-transaction.ts'
import {
  ABYSS,
  CHAIN_ID,
  CREATED_SLOT,
  credentialsOf,
  DEPOSIT_CONTRACT,
  depositOf,
  type GivenStaking,
  givenStaking,
  keyOf,
  loggedOf,
  SENDER,
  type Signing,
  STRANGER,
  signStaking,
} from './given-staking.ts'

const ETH_WEI = 10n ** 18n
const OWN = [depositOf(1), depositOf(2), depositOf(3)] as const
const OTHERS = [depositOf(9)] as const
const KILN: StakingContract = { kind: 'kiln', address: `0x${'4b'.repeat(20)}`, feeWei: 0n }
const STAKEFISH: StakingContract = { kind: 'stakefish', address: `0x${'5f'.repeat(20)}`, feeWei: 25n * 10n ** 15n }
const DIRECT: StakingContract = { kind: 'deposit', address: DEPOSIT_CONTRACT, feeWei: 0n }

function given(contract: StakingContract | undefined = ABYSS): GivenStaking {
  return givenStaking(
    [
      { account: 'acme', deposits: [...OWN, depositOf(4)] },
      { account: 'other', deposits: OTHERS },
      { account: 'acme', deposits: [depositOf(5)], depositFrom: STRANGER.address.toLowerCase() },
    ],
    contract,
  )
}

function send({ broadcasting, chain }: GivenStaking, raw: string, account = 'acme') {
  const input = {
    chain: 'hoodi',
    account,
    txHash: keccak256(raw as Hex),
    rawTransaction: raw,
    notAfterMs: broadcasting.wallNow(),
  }
  return broadcastForAccount(broadcasting, chain, input)
}

const refused = (reason: string) => ({ status: 'refused', reason, sentence: expect.any(String) })
const SENT = { status: 'sent' }

/** The deposit with its data changed, and a root that is right for it. */
function other(
  deposit: CalledDeposit,
  change: { readonly signature?: number; readonly owner?: string },
): CalledDeposit {
  const moved = change.owner === undefined ? deposit : depositOf(1, credentialsOf(change.owner))
  const signature = change.signature === undefined ? moved.signature : new Uint8Array(96).fill(change.signature)
  return { ...moved, signature, dataRoot: depositDataRoot(moved, signature) }
}

describe('a broadcast', () => {
  test.each<[string, StakingContract | undefined, Signing]>([
    ['of one validator', ABYSS, { deposits: OWN.slice(0, 1) }],
    ['of all of a request', ABYSS, { deposits: OWN }],
    ['of some in another order', ABYSS, { deposits: [depositOf(3), depositOf(1)] }],
    ['straight to the deposit contract', ABYSS, { deposits: OWN.slice(0, 1), contract: DIRECT }],
    ['where no staking contract is configured', undefined, { deposits: OWN.slice(0, 1), contract: DIRECT }],
    ["to Kiln's contract", KILN, { deposits: OWN, contract: KILN }],
    ["to stakefish's contract", STAKEFISH, { deposits: OWN, contract: STAKEFISH }],
  ])('%s is told, then sent', async (_, contract, signing) => {
    const role = given(contract)
    const raw = await signStaking(signing)
    expect(await send(role, raw)).toEqual(SENT)
    expect([role.hashes(), role.sent, role.ends()]).toEqual([[keccak256(raw)], [raw], []])
  })

  test.each<[string, Signing, string]>([
    ['for another chain', { deposits: OWN, chainId: 1 }, 'wrong_chain'],
    ['for no chain of this number', { deposits: OWN, chainId: CHAIN_ID + 1 }, 'wrong_chain'],
    ['to a wallet', { deposits: OWN, to: `0x${'77'.repeat(20)}` }, 'wrong_contract'],
    ['to the account itself', { deposits: OWN, to: SENDER.address }, 'wrong_contract'],
    ['of a batch to the deposit contract', { deposits: OWN, to: DEPOSIT_CONTRACT }, 'not_a_deposit'],
    ["in Kiln's words", { deposits: OWN, contract: KILN, to: ABYSS.address }, 'not_a_deposit'],
    ["in stakefish's words", { deposits: OWN, contract: STAKEFISH, to: ABYSS.address }, 'not_a_deposit'],
    [
      'to the withdrawal contract',
      { deposits: OWN, to: '0x00000961Ef480Eb55e80D19ad83579A64c007002' },
      'withdrawal_request',
    ],
    [
      'to the consolidation contract',
      { deposits: OWN, to: '0x0000BBdDc7CE488642fb579F8B00f3a590007251' },
      'consolidation_request',
    ],
    ['without ether', { deposits: OWN, value: 0n }, 'wrong_value'],
    ['with a wei too little', { deposits: OWN, value: 96n * ETH_WEI - 1n }, 'wrong_value'],
    ['with a wei too much', { deposits: OWN, value: 96n * ETH_WEI + 1n }, 'wrong_value'],
    ['with the ether of one validator more', { deposits: OWN, value: 128n * ETH_WEI }, 'wrong_value'],
    [
      'with one ETH for the deposit contract',
      { deposits: OWN.slice(0, 1), contract: DIRECT, value: ETH_WEI },
      'wrong_value',
    ],
    [
      'that pays a fee to a contract without one',
      { deposits: OWN, value: 96n * ETH_WEI + 75n * 10n ** 15n },
      'wrong_value',
    ],
    ['by a stranger', { deposits: OWN, sender: STRANGER }, 'wrong_sender'],
    ['of a validator that somebody else is to fund', { deposits: [depositOf(5)] }, 'wrong_sender'],
    ['of two that have two depositors', { deposits: [depositOf(1), depositOf(5)] }, 'wrong_sender'],
    ["of another account's validator", { deposits: OTHERS }, 'unknown_validator'],
    ["of one's own and another account's", { deposits: [...OWN, ...OTHERS] }, 'unknown_validator'],
    ['of a validator that nobody created', { deposits: [depositOf(77)] }, 'unknown_validator'],
    ['with other credentials', { deposits: [other(OWN[0], { owner: 'd' })] }, 'altered_deposit_data'],
    ['with another signature', { deposits: [other(OWN[0], { signature: 5 })] }, 'altered_deposit_data'],
    [
      'with the signature of another validator',
      { deposits: [other(OWN[0], { signature: 2 })] },
      'altered_deposit_data',
    ],
    ['with a root that is none', { deposits: [{ ...OWN[0], dataRoot: new Uint8Array(32) }] }, 'altered_deposit_data'],
    [
      'with the root of another validator',
      { deposits: [{ ...OWN[0], dataRoot: OWN[1].dataRoot }] },
      'altered_deposit_data',
    ],
    ['for one validator twice', { deposits: [OWN[0], OWN[0]] }, 'repeated_pubkey'],
    ['for one validator twice among others', { deposits: [...OWN, OWN[1]] }, 'repeated_pubkey'],
    ['with a byte behind it', { deposits: OWN, change: (data) => `${data}00` }, 'malformed_call'],
    ['with a word behind it', { deposits: OWN, change: (data) => `${data}${'00'.repeat(32)}` }, 'malformed_call'],
    ['with a byte too few', { deposits: OWN, change: (data) => data.slice(0, -2) as Hex }, 'malformed_call'],
    ['with padding that is not zero', { deposits: OWN, change: paddedWithOnes }, 'malformed_call'],
    ['with offsets that overlap', { deposits: OWN, change: overlapping }, 'malformed_call'],
    ['without arguments', { deposits: OWN, change: (data) => data.slice(0, 10) as Hex }, 'malformed_call'],
    ['without call data', { deposits: OWN, change: () => '0x' }, 'not_a_deposit'],
    ['of another function', { deposits: OWN, change: () => pauseCall() }, 'not_a_deposit'],
    ['of a function with amounts', { deposits: OWN, change: (data) => `0xc09bb1db${data.slice(10)}` }, 'not_a_deposit'],
    ['of no validators', { deposits: OWN, change: emptyCall }, 'malformed_call'],
    ['with gas for nothing', { deposits: OWN, gas: 21_000n }, 'gas_too_low'],
    ['with no gas', { deposits: OWN, gas: 0n }, 'gas_too_low'],
    ['with more gas than there may be', { deposits: OWN, gas: TRANSACTION_GAS_MAX + 1n }, 'gas_too_high'],
  ])('%s is refused, and nothing is told or sent', async (_, signing, reason) => {
    const role = given()
    expect(await send(role, await signStaking(signing))).toEqual(refused(reason))
    expect([role.told, role.sent]).toEqual([[], []])
  })

  test.each<[string, (raw: Hex) => string, string]>([
    ['cut short', (raw) => raw.slice(0, -2), 'malformed_transaction'],
    ['followed by a byte', (raw) => `${raw}00`, 'malformed_transaction'],
    ['of a type that carries blobs', (raw) => `0x03${raw.slice(4)}`, 'unsupported_type'],
    ['of a type that delegates', (raw) => `0x04${raw.slice(4)}`, 'unsupported_type'],
    ['of nothing', () => '0x', 'malformed_transaction'],
  ])('of bytes that are %s is refused, and nothing is told or sent', async (_, change, reason) => {
    const role = given()
    expect(await send(role, change(await signStaking({ deposits: OWN })))).toEqual(refused(reason))
    expect([role.told, role.sent]).toEqual([[], []])
  })

  test('without a chain id, or that creates a contract, is refused', async () => {
    const role = given()
    const common = { gas: 1_000_000n, value: 32n * ETH_WEI, gasPrice: 7n, nonce: 0 }
    const chainless = await SENDER.signTransaction({ type: 'legacy', to: ABYSS.address as Hex, ...common })
    const creation = await SENDER.signTransaction({ type: 'legacy', chainId: CHAIN_ID, data: '0x4f498c73', ...common })
    expect(await send(role, chainless)).toEqual(refused('no_chain_id'))
    expect(await send(role, creation)).toEqual(refused('wrong_contract'))
    expect([role.told, role.sent]).toEqual([[], []])
  })

  test.each<[string, (says: GivenStaking['says']) => void, string]>([
    ['in the registry', (says) => Object.assign(says, { registered: [keyOf(OWN[1])] }), 'already_deposited'],
    ['deposited', (says) => Object.assign(says, { deposits: [loggedOf(OWN[1])] }), 'already_deposited'],
    [
      'deposited hours ago, soon after its creation',
      (says) =>
        Object.assign(says, { deposits: [loggedOf(OWN[1])], depositDepth: 1_000, headSlot: CREATED_SLOT + 1_001 }),
      'already_deposited',
    ],
    ['without its key', (says) => Object.assign(says, { lacking: [keyOf(OWN[0])] }), 'key_lost'],
    ['refused by the contract', (says) => Object.assign(says, { simulation: 'reverted' }), 'would_fail'],
    ['too old', (says) => Object.assign(says, { nowMs: says.nowMs + 8 * 86_400_000 }), 'expired'],
  ])('of a validator that is %s is refused, and nothing is told or sent', async (_, change, reason) => {
    const role = given()
    change(role.says)
    expect(await send(role, await signStaking({ deposits: OWN }))).toEqual(refused(reason))
    expect([role.told, role.sent]).toEqual([[], []])
  })

  test("is not stopped by a stranger's deposit for its validator", async () => {
    const role = given()
    role.says.deposits = [loggedOf(OWN[0], { depositDataRoot: `0x${'99'.repeat(32)}` })]
    expect(await send(role, await signStaking({ deposits: OWN }))).toEqual(SENT)
  })

  test('is not made where no node answers, or nobody waits for it any more', async () => {
    const role = given()
    const raw = await signStaking({ deposits: OWN })
    role.says.isAway = true
    expect(await send(role, raw)).toEqual({ status: 'unavailable' })
    role.says.isAway = false
    const late = {
      chain: 'hoodi',
      account: 'acme',
      txHash: keccak256(raw),
      rawTransaction: raw,
      notAfterMs: role.broadcasting.wallNow() - 1,
    }
    expect(await broadcastForAccount(role.broadcasting, role.chain, late)).toEqual({ status: 'unavailable' })
    expect([role.told, role.sent]).toEqual([[], []])
  })

  test('is not made of validators whose keys nobody was given, and says how they are', async () => {
    const role = given()
    const raw = await signStaking({ deposits: OWN })
    role.says.exported = [keyOf(OWN[0]), keyOf(OWN[2])]
    expect(await send(role, raw)).toEqual({
      status: 'refused',
      reason: 'keys_not_exported',
      sentence: expect.stringMatching(new RegExp(`^nobody would run ${keyOf(OWN[1])}: .*keys export`)),
    })
    expect([role.told, role.sent]).toEqual([[], []])
    role.says.exported = OWN.map(keyOf)
    expect(await send(role, raw)).toEqual(SENT)
  })

  test('is not made while the validator client does not answer', async () => {
    const role = given()
    role.says.exported = []
    role.says.validatorClient = openValidatorClient({ url: 'http://127.0.0.1:9', token: 'x' })
    const away = { status: 'unavailable', away: 'validator_client' }
    expect(await send(role, await signStaking({ deposits: OWN }))).toEqual(away)
    expect([role.told, role.sent]).toEqual([[], []])
  })

  test('is not made when its turn comes too late', async () => {
    const role = given()
    const held = Promise.withResolvers<void>()
    const before = role.broadcasting.turns.take('hoodi', () => held.promise)
    const result = send(role, await signStaking({ deposits: OWN }))
    role.says.nowMs++
    held.resolve()
    expect(await result).toEqual({ status: 'unavailable' })
    await before
    expect([role.told, role.sent]).toEqual([[], []])
  })

  test('does not wait for those of other chains', async () => {
    const role = given()
    const held = Promise.withResolvers<void>()
    const other = role.broadcasting.turns.take('mainnet', () => held.promise)
    expect(await send(role, await signStaking({ deposits: OWN }))).toEqual(SENT)
    held.resolve()
    await other
  })

  test.each<[string, bigint, unknown]>([
    ['is refused with less gas than it needs', 405_001n, refused('gas_too_low')],
    ['is made with what it needs, though less than the node tells', 405_000n, SENT],
  ])('%s', async (_, neededGas, result) => {
    const role = given()
    role.says.simulatedGas = 410_000n
    role.says.neededGas = neededGas
    expect(await send(role, await signStaking({ deposits: OWN, gas: 405_000n }))).toEqual(result)
    expect(role.sent).toHaveLength(result === SENT ? 1 : 0)
  })
})

describe('broadcasts for the same validators', () => {
  let first: Hex
  let same: Hex
  let next: Hex
  beforeAll(async () => {
    first = await signStaking({ deposits: OWN })
    same = await signStaking({ deposits: OWN.toReversed(), tip: 9n })
    next = await signStaking({ deposits: OWN.slice(1), nonce: 1 })
  })

  test('fifty at once, with two nonces, are one transaction', async () => {
    const role = given()
    const raws = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? first : next))
    const results = await Promise.all(raws.map((raw) => send(role, raw)))
    expect(role.hashes()).toHaveLength(1)
    expect(new Set(role.sent).size).toBe(1)
    results.forEach((result, i) => {
      expect(result).toEqual(raws[i] === role.sent[0] ? SENT : refused('pending_transaction'))
    })
  })

  test('with one nonce replace each other, when they carry the same validators', async () => {
    const role = given()
    expect(await send(role, first)).toEqual(SENT)
    expect(await send(role, same)).toEqual(SENT)
    expect(await send(role, await signStaking({ deposits: OWN.slice(0, 2) }))).toEqual(refused('other_validators'))
    expect(role.hashes()).toEqual([keccak256(first), keccak256(same)])
  })

  test('leave no nonce out, as whatever is signed then would wait for others', async () => {
    const role = given()
    const sendAt = async (nonce: number, number: number) =>
      send(role, await signStaking({ deposits: [depositOf(number)], nonce }))
    const tooHigh = await sendAt(3, 1)
    expect(tooHigh).toEqual(refused('nonce_too_high'))
    expect(tooHigh).toMatchObject({
      sentence: expect.stringMatching(/next transaction has nonce 1: .* sign it with 1$/),
    })
    expect(await sendAt(1, 1)).toEqual(SENT)
    // The node that is asked may not have the first one yet.
    expect(await sendAt(2, 2)).toEqual(SENT)
    expect(await sendAt(4, 3)).toEqual(refused('nonce_too_high'))
    expect(await sendAt(3, 3)).toEqual(SENT)
    expect(role.sent).toHaveLength(3)
  })

  test('of one transaction are not sent again when its validators are deposited, unless a node has it', async () => {
    const role = given()
    expect(await send(role, first)).toEqual(SENT)
    role.says.deposits = [loggedOf(OWN[0])]
    expect(await send(role, first)).toEqual(refused('already_deposited'))
    role.says.known = new Set([keccak256(first)])
    expect(await send(role, first)).toEqual(SENT)
    expect([role.sent, role.ends()]).toEqual([[first], []])
  })

  test('replace each other when the validators have expired meanwhile, but only each other', async () => {
    const role = given()
    expect(await send(role, first)).toEqual(SENT)
    role.says.nowMs += 8 * 86_400_000
    expect(await send(role, next)).toEqual(refused('expired'))
    expect(await send(role, await signStaking({ deposits: [depositOf(4)] }))).toEqual(refused('expired'))
    expect(await send(role, same)).toEqual(SENT)
    expect(role.sent).toEqual([first, same])
  })

  test('are told nothing when the nodes take too long to say whether they have an earlier one', async () => {
    const role = given()
    role.says.outcomes = [{ status: 'unanswered' }]
    await send(role, first)
    const slow = () => {
      role.says.nowMs++
      return new Set()
    }
    Object.defineProperty(role.says, 'known', { get: slow })
    expect(await send(role, next)).toEqual({ status: 'unavailable' })
    expect(role.hashes()).toEqual([keccak256(first)])
  })

  test('of one transaction are one, though it is mined while the second of them is looked at', async () => {
    const role = given()
    const [looked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = {
      ...role.chain,
      registered: async () => {
        looked.resolve()
        await held.promise
        return OWN.map(keyOf)
      },
    }
    const second = send({ ...role, chain: slow }, first)
    await looked.promise
    expect(await send(role, first)).toEqual(SENT)
    role.says.known = new Set([keccak256(first)])
    held.resolve()
    expect(await second).toEqual(SENT)
    expect([role.hashes(), role.sent]).toEqual([[keccak256(first)], [first]])
  })

  test('of one that no node seemed to get are followed again when it is in the chain all the same', async () => {
    const role = given()
    role.says.outcomes = [{ status: 'unanswered' }]
    role.says.known = 'unanswered'
    expect(await send(role, first)).toEqual({ status: 'unavailable' })
    role.says.deposits = OWN.map((deposit) => loggedOf(deposit))
    expect(await send(role, first)).toEqual({ status: 'unavailable' })
    role.says.known = new Set()
    expect(await send(role, first)).toEqual(refused('already_deposited'))
    role.says.known = new Set([keccak256(first)])
    role.says.outcomes = [{ status: 'accepted' }]
    expect(await send(role, first, 'other')).toEqual(refused('unknown_validator'))
    expect(await send(role, first)).toEqual(SENT)
    expect(role.hashes()).toEqual([keccak256(first), keccak256(first)])
    expect(role.ends()).toMatchObject([{ status: 'unsent' }])
  })

  test('of which nodes say something have the end that was told meanwhile', async () => {
    const role = given()
    const { broadcasting } = role
    const superseded = { status: 'superseded', deposited: OWN.map(keyOf) } as const
    const sentFirst = () => broadcasting.book.sent.of('hoodi', keccak256(first)) as SentStaking
    let told: Promise<void> | undefined
    role.says.outcomes = () => {
      told = tellEnd(broadcasting, sentFirst(), superseded)
      return [{ status: 'unanswered' }]
    }
    const sending = send(role, first)
    expect(await sending).toEqual({ status: 'unavailable' })
    await told
    expect(sentFirst()).toMatchObject({ end: 'superseded', deposited: OWN.map(keyOf) })
    // Told later all the same, by a process of before, it counts for nothing.
    for (const status of ['unsent', 'refused'] as const) await tellEnd(broadcasting, sentFirst(), { status })
    expect(sentFirst()).toMatchObject({ end: 'superseded', deposited: OWN.map(keyOf) })
    await tellEnd(broadcasting, sentFirst(), { status: 'mined' })
    expect(sentFirst().end).toBe('mined')
  })

  test('of one transaction are told once and sent each time', async () => {
    const role = given()
    for (let i = 0; i < 3; i++) expect(await send(role, first)).toEqual(SENT)
    expect(role.hashes()).toEqual([keccak256(first)])
    expect(role.sent).toEqual([first, first, first])
  })

  test('by another account with the same bytes are refused', async () => {
    const role = given()
    expect(await send(role, first)).toEqual(SENT)
    expect(await send(role, first, 'other')).toEqual(refused('unknown_validator'))
    expect(role.sent).toEqual([first])
  })

  test.each([
    ['nonce too low: next nonce 5, tx nonce 0', 'nonce_too_low'],
    ['insufficient funds for gas * price + value', 'insufficient_funds'],
    ['replacement transaction underpriced', 'underpriced'],
    ['exceeds block gas limit', 'gas_limit'],
    ['no', 'refused_by_node'],
  ])('may follow one that every node refuses with %s', async (words, reason) => {
    const role = given()
    role.says.outcomes = [
      { status: 'refused', words },
      { status: 'refused', words },
    ]
    expect(await send(role, first)).toEqual({ ...refused(reason), sentence: expect.stringContaining(words) })
    expect(role.ends()).toMatchObject([{ txHash: keccak256(first), status: 'refused' }])
    role.says.outcomes = [{ status: 'accepted' }]
    expect(await send(role, next)).toEqual(SENT)
  })

  test('may follow one that no node got, unless one got it all the same', async () => {
    const role = given()
    role.says.outcomes = [{ status: 'unanswered' }]
    expect(await send(role, first)).toEqual({ status: 'unavailable' })
    expect(role.ends()).toMatchObject([{ status: 'unsent' }])
    role.says.outcomes = [{ status: 'accepted' }]
    role.says.known = new Set([keccak256(first)])
    expect(await send(role, next)).toEqual(refused('pending_transaction'))
    role.says.known = 'unanswered'
    expect(await send(role, next)).toEqual({ status: 'unavailable' })
    role.says.known = new Set()
    expect(await send(role, next)).toEqual(SENT)
    expect(role.hashes()).toEqual([keccak256(first), keccak256(next)])
  })

  test('may follow one that every node refused, unless one has it all the same', async () => {
    const role = given()
    role.says.outcomes = [{ status: 'refused', words: 'txpool is full' }]
    expect(await send(role, first)).toEqual(refused('refused_by_node'))
    role.says.outcomes = [{ status: 'accepted' }]
    role.says.known = new Set([keccak256(first)])
    expect(await send(role, next)).toEqual(refused('pending_transaction'))
    role.says.known = 'unanswered'
    expect(await send(role, next)).toEqual({ status: 'unavailable' })
    expect(role.hashes()).toEqual([keccak256(first)])
  })

  test.each(['refused', 'unanswered'] as const)(
    'do not end one that a node has, though all have %s it',
    async (status) => {
      const role = given()
      role.says.outcomes = [status === 'refused' ? { status, words: 'no' } : { status }]
      role.says.known = new Set([keccak256(first)])
      expect(await send(role, first)).toEqual(SENT)
      expect(role.ends()).toEqual([])
      expect(await send(role, next)).toEqual(refused('pending_transaction'))
    },
  )

  test('end where no node can be asked whether it has them', async () => {
    const role = given()
    role.says.outcomes = [{ status: 'refused', words: 'no' }, { status: 'unanswered' }]
    role.says.known = 'unanswered'
    expect(await send(role, first)).toEqual(refused('refused_by_node'))
    expect(role.ends()).toMatchObject([{ status: 'unsent' }])
  })

  test('succeed when one of the nodes takes them', async () => {
    const role = given()
    role.says.outcomes = [{ status: 'unanswered' }, { status: 'refused', words: 'no' }, { status: 'accepted' }]
    expect(await send(role, first)).toEqual(SENT)
    expect(role.ends()).toEqual([])
  })

  test('do not end one that was sent before, whatever the nodes say of it later', async () => {
    const role = given()
    expect(await send(role, first)).toEqual(SENT)
    role.says.outcomes = [{ status: 'refused', words: 'txpool is full' }]
    expect(await send(role, first)).toEqual(refused('refused_by_node'))
    expect(role.ends()).toEqual([])
    expect(await send(role, next)).toEqual(refused('pending_transaction'))
  })
})

/** The last byte of padding behind the last signature. */
function paddedWithOnes(data: Hex): Hex {
  const key = keyOf(OWN[0]).slice(2)
  const at = data.indexOf(key) + key.length
  return `${data.slice(0, at)}${'1'.repeat(32)}${data.slice(at + 32)}` as Hex
}

/** The array of credentials begins where that of public keys does. */
function overlapping(data: Hex): Hex {
  const words = data.slice(10).match(/.{64}/g) as string[]
  return `${data.slice(0, 10)}${words.with(1, words[0] as string).join('')}` as Hex
}

function emptyCall(data: Hex): Hex {
  const abi = parseAbi(['function deposit(bytes[],bytes[],bytes[],bytes32[])'])
  const call = encodeFunctionData({ abi, functionName: 'deposit', args: [[], [], [], []] })
  expect(call.slice(0, 10)).toBe(data.slice(0, 10))
  return call
}

function pauseCall(): Hex {
  return encodeFunctionData({ abi: parseAbi(['function pause()']), functionName: 'pause' })
}
