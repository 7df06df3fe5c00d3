import { type Abi, encodeFunctionData } from 'viem'
import type { Hex } from '../../../schemas/eth/hex.ts'
import type { Random } from '../consensus/random.ts'
import artifacts from '../contracts/artifacts.json' with { type: 'json' }
import {
  COLLECTIBLE_721_ADDRESS,
  DEPOSIT_CONTRACT_ADDRESS,
  ITEMS_1155_ADDRESS,
  REVERTING_RECEIVER_ADDRESS,
} from './genesis.ts'
import {
  type CollectionsState,
  DEPOSITOR,
  ITEM_IDS,
  type PlannedDeposit,
  type PlannedTransaction,
  type ScenarioSetup,
  TOKENS,
  type TransactionFields,
  USERS,
} from './scenario-state.ts'

const FULL_BLOCK_GAS = 14_000_000
export const GWEI = 1_000_000_000n
const FEE_CAP_WEI = 100n * GWEI
const TIP_WEI_MAX = 5 * 1e9
const TRANSFER_GAS = 21_000
const CALL_GAS = 300_000
const ITEMS_PER_MINT = 50

const BLOB_BYTES = 131_072
// The commitment to the zero polynomial, and the proof for it, are the point at infinity: no trusted setup is needed.
export const ZERO_BLOB_COMMITMENT: Hex = `0xc0${'00'.repeat(47)}`
/** 0x01 and SHA-256 of the commitment, without its first byte (EIP-4844). */
export const ZERO_BLOB_VERSIONED_HASH: Hex = '0x010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014'

export function hex(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}

export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit)
}

export function feeFields(tipWei: bigint): TransactionFields {
  return { maxFeePerGas: hex(FEE_CAP_WEI), maxPriorityFeePerGas: hex(tipWei) }
}

/** The payment of a builder to the proposer: no tip, and gas for a recipient that is a contract. */
export function paymentFields(to: Hex, valueWei: bigint): TransactionFields {
  return { to, value: hex(valueWei), gas: hex(60_000), ...feeFields(0n) }
}

/** A slot's work in progress: the state's parts as they change from transaction to transaction. */
export interface Draft {
  readonly setup: ScenarioSetup
  readonly random: Random
  readonly planned: PlannedTransaction[]
  readonly nonces: number[]
  readonly tokenOwners: Uint8Array
  readonly itemBalances: Uint16Array
  authorizationNonce: number
  /** Its arrays are this slot's own. */
  readonly collections: CollectionsState
}

export function add(
  draft: Draft,
  sender: number,
  fields: TransactionFields,
  authorization?: PlannedTransaction['authorization'],
) {
  const nonce = draft.nonces[sender] ?? 0
  draft.nonces[sender] = nonce + 1
  draft.planned.push(authorization === undefined ? { sender, nonce, fields } : { sender, nonce, fields, authorization })
}

export function addressOf(draft: Draft, account: number): Hex {
  const address = draft.setup.addresses[account]
  if (address === undefined) throw new Error(`the scenario has no account ${account}`)
  return address
}

export function randomUser(draft: Draft): number {
  return below(draft.random, USERS)
}

export function randomTip(draft: Draft): bigint {
  return draft.random() < 0.1 ? 0n : BigInt(Math.floor(draft.random() ** 2 * TIP_WEI_MAX))
}

function randomValue(draft: Draft): Hex {
  return hex(BigInt(below(draft.random, 3e9)) * GWEI + BigInt(below(draft.random, 1e9)))
}

function transferTo(draft: Draft, extra: TransactionFields): void {
  const to = addressOf(draft, randomUser(draft))
  const fields = { to, value: randomValue(draft), gas: hex(TRANSFER_GAS), ...feeFields(randomTip(draft)), ...extra }
  add(draft, randomUser(draft), fields)
}

function legacyFee(draft: Draft): TransactionFields {
  const gasPrice = hex(10n * GWEI + randomTip(draft))
  return { gasPrice, maxFeePerGas: undefined, maxPriorityFeePerGas: undefined }
}

export function callFields(
  draft: Draft,
  to: Hex,
  abi: unknown,
  functionName: string,
  args: readonly unknown[],
): TransactionFields {
  const input = encodeFunctionData({ abi: abi as Abi, functionName, args })
  return { to, input, gas: hex(CALL_GAS), ...feeFields(randomTip(draft)) }
}

function collectible(draft: Draft, functionName: string, args: readonly unknown[]): TransactionFields {
  return callFields(draft, COLLECTIBLE_721_ADDRESS, artifacts.contracts.Collectible721.abi, functionName, args)
}

function items(draft: Draft, functionName: string, args: readonly unknown[]): TransactionFields {
  return callFields(draft, ITEMS_1155_ADDRESS, artifacts.contracts.Items1155.abi, functionName, args)
}

function mintToken(draft: Draft, token: number): void {
  const owner = randomUser(draft)
  add(draft, randomUser(draft), collectible(draft, 'mint', [addressOf(draft, owner), BigInt(token + 1)]))
  draft.tokenOwners[token] = owner + 1
}

/** Mints the token when it does not exist; otherwise its owner passes it on, or sometimes burns it. */
function moveToken(draft: Draft): void {
  const token = below(draft.random, TOKENS)
  const owner = (draft.tokenOwners[token] ?? 0) - 1
  if (owner < 0) {
    mintToken(draft, token)
    return
  }
  const from = addressOf(draft, owner)
  if (draft.random() < 0.15) {
    add(draft, owner, collectible(draft, 'burn', [BigInt(token + 1)]))
    draft.tokenOwners[token] = 0
    return
  }
  const receiver = randomUser(draft)
  const method = draft.random() < 0.5 ? 'transferFrom' : 'safeTransferFrom'
  add(draft, owner, collectible(draft, method, [from, addressOf(draft, receiver), BigInt(token + 1)]))
  draft.tokenOwners[token] = receiver + 1
}

function itemIndex(id: number, user: number): number {
  return id * USERS + user
}

function addItems(draft: Draft, id: number, user: number, count: number): void {
  const index = itemIndex(id, user)
  draft.itemBalances[index] = (draft.itemBalances[index] ?? 0) + count
}

/** One id or a batch of two: a transfer of one item each when the user has them, a mint otherwise. */
function moveItems(draft: Draft): void {
  const from = randomUser(draft)
  const to = randomUser(draft)
  const first = below(draft.random, ITEM_IDS)
  const ids = draft.random() < 0.4 ? [first, (first + 1) % ITEM_IDS] : [first]
  const hasAll = ids.every((id) => (draft.itemBalances[itemIndex(id, from)] ?? 0) > 0)
  const count = hasAll ? 1 : ITEMS_PER_MINT
  const amounts = ids.map(() => BigInt(count))
  const receiver = addressOf(draft, to)
  const tokenIds = ids.map((id) => BigInt(id + 1))
  const isBatch = ids.length > 1
  for (const id of ids) {
    if (hasAll) addItems(draft, id, from, -1)
    addItems(draft, id, to, count)
  }
  const what = isBatch ? [tokenIds, amounts] : [tokenIds[0], amounts[0]]
  if (hasAll) {
    const method = isBatch ? 'safeBatchTransferFrom' : 'safeTransferFrom'
    add(draft, from, items(draft, method, [addressOf(draft, from), receiver, ...what, '0x']))
  } else {
    add(draft, from, items(draft, isBatch ? 'mintBatch' : 'mint', [receiver, ...what]))
  }
}

/** Fails in one of three ways: the receiver refuses, the contract says no, or the gas does not suffice. */
function failingCall(draft: Draft): void {
  const draw = draft.random()
  if (draw < 0.4) {
    transferTo(draft, { to: REVERTING_RECEIVER_ADDRESS, gas: hex(CALL_GAS) })
  } else if (draw < 0.7) {
    add(draft, randomUser(draft), collectible(draft, 'burn', [BigInt(TOKENS + 1)]))
  } else {
    const mint = items(draft, 'mint', [addressOf(draft, randomUser(draft)), 1n, 1n])
    add(draft, randomUser(draft), { ...mint, gas: hex(30_000) })
  }
}

function setCode(draft: Draft): void {
  const address = draft.random() < 0.5 ? ITEMS_1155_ADDRESS : REVERTING_RECEIVER_ADDRESS
  const to = addressOf(draft, randomUser(draft))
  const fields = { to, value: '0x0', input: '0x', gas: hex(100_000), ...feeFields(randomTip(draft)) }
  add(draft, randomUser(draft), fields, { address, nonce: draft.authorizationNonce })
  draft.authorizationNonce++
}

const ZERO_BLOB: Hex = `0x${'00'.repeat(BLOB_BYTES)}`
const BLOB_FIELDS: TransactionFields = {
  maxFeePerBlobGas: hex(10n * GWEI),
  blobVersionedHashes: [ZERO_BLOB_VERSIONED_HASH],
  blobs: [ZERO_BLOB],
  commitments: [ZERO_BLOB_COMMITMENT],
  proofs: [ZERO_BLOB_COMMITMENT],
}

function blobTransaction(draft: Draft): void {
  transferTo(draft, draft.setup.profile === 'rollup' ? {} : BLOB_FIELDS)
}

/** A contract whose code is empty: initialisation code that stops at once. */
function creation(draft: Draft): void {
  add(draft, randomUser(draft), { input: '0x00', gas: hex(100_000), ...feeFields(randomTip(draft)) })
}

const KINDS: readonly { readonly weight: number; readonly make: (draft: Draft) => void }[] = [
  { weight: 34, make: (draft) => transferTo(draft, {}) },
  { weight: 14, make: (draft) => transferTo(draft, { type: '0x0', ...legacyFee(draft) }) },
  {
    weight: 8,
    make: (draft) =>
      transferTo(draft, { type: '0x1', accessList: accessListOf(draft), gas: hex(30_000), ...legacyFee(draft) }),
  },
  { weight: 18, make: moveToken },
  { weight: 16, make: moveItems },
  { weight: 7, make: failingCall },
  { weight: 1.5, make: setCode },
  { weight: 0.6, make: blobTransaction },
  { weight: 0.3, make: creation },
]
const WEIGHT_SUM = KINDS.reduce((sum, kind) => sum + kind.weight, 0)

function accessListOf(draft: Draft): unknown[] {
  return [{ address: addressOf(draft, randomUser(draft)), storageKeys: [] }]
}

/** One transaction of a kind drawn by the kinds' weights. */
export function addRandom(draft: Draft): void {
  let draw = draft.random() * WEIGHT_SUM
  for (const kind of KINDS) {
    draw -= kind.weight
    if (draw < 0) {
      kind.make(draft)
      return
    }
  }
}

/** A movement of an ERC-721 token or of ERC-1155 items, whose log is one that every reader of tokens looks for. */
export function addTokenMovement(draft: Draft): void {
  if (draft.random() < 0.5) moveToken(draft)
  else moveItems(draft)
}

/** Two calls that burn what they are given: the block is over its gas target and the next base fee rises. */
export function fillBlock(draft: Draft): void {
  for (let i = 0; i < 2; i++) {
    const spin = callFields(draft, REVERTING_RECEIVER_ADDRESS, artifacts.contracts.RevertingReceiver.abi, 'spin', [])
    add(draft, randomUser(draft), { ...spin, gas: hex(FULL_BLOCK_GAS) })
  }
}

/** A call of the deposit contract; the new validator's withdrawals go to the depositor. */
function depositFields(draft: Draft, planned: PlannedDeposit): TransactionFields {
  const depositor = addressOf(draft, DEPOSITOR)
  const deposit = draft.setup.depositsFor(planned.validatorNumber, planned.amountGwei, depositor)
  const args = [deposit.pubkey, deposit.withdrawalCredentials, deposit.signature, deposit.depositDataRoot]
  const { abi } = artifacts.contracts.DepositContract
  const call = callFields(draft, DEPOSIT_CONTRACT_ADDRESS, abi, 'deposit', args)
  return { ...call, value: hex(deposit.amountGwei * GWEI) }
}

export function addDeposit(draft: Draft, planned: PlannedDeposit): void {
  add(draft, DEPOSITOR, depositFields(draft, planned))
}
