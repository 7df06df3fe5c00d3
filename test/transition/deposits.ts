import { hash } from 'node:crypto'
import type { SecretKey } from '@chainsafe/blst'
import { Tree } from '@chainsafe/persistent-merkle-tree'
import { DOMAIN_BLS_TO_EXECUTION_CHANGE, DOMAIN_DEPOSIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot, ZERO_HASH } from '@lodestar/state-transition'
import { type capella, type phase0, ssz } from '@lodestar/types'
import { withdrawalCredentialsFor } from '../../infra/devnet/consensus/deposits.ts'
import { secretKeyOf, withdrawalAddressOf } from '../../infra/devnet/consensus/keys.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import type { Dice } from './dice.ts'
import { GENESIS_FORK_VERSION, GENESIS_VALIDATORS_ROOT } from './history-config.ts'

export const GWEI_PER_ETH = 1_000_000_000

/** Numbers of keys: those of genesis begin at 0. */
const FIRST_NEW_KEY = 1_000_000
const FIRST_BLS_KEY = 2_000_000
/** As many as may become validators in one history; their signatures are made once for all histories of a process. */
const NEW_KEYS = 48
const ELIGIBLE_GWEI = 32 * GWEI_PER_ETH
const NEW_AMOUNTS_GWEI = [ELIGIBLE_GWEI, 40 * GWEI_PER_ETH + 1, GWEI_PER_ETH, ELIGIBLE_GWEI, 17 * GWEI_PER_ETH + 7]

export type Credentials = 'bls' | 'eth1' | 'compounding'

const kept = new Map<string, unknown>()

/** Keys and signatures take longer than all else in a history. */
function once<T>(name: string, make: () => T): T {
  if (!kept.has(name)) kept.set(name, make())
  return kept.get(name) as T
}

function secretKey(number: number): SecretKey {
  return once(`secret ${number}`, () => secretKeyOf(number))
}

function keyBytes(number: number): Uint8Array {
  return once(`public ${number}`, () => secretKey(number).toPublicKey().toBytes())
}

/** The public key of a genesis validator. */
export const genesisPubkey = keyBytes

export function addressOf(number: number): Uint8Array {
  return once(`address ${number}`, () => bytesOf(withdrawalAddressOf(number)))
}

export function credentialsOf(number: number, kind: Credentials): Uint8Array {
  return once(`credentials ${number} ${kind}`, () => {
    if (kind !== 'bls') return withdrawalCredentialsFor(withdrawalAddressOf(number), kind)
    const credentials = Uint8Array.from(hash('sha256', keyBytes(FIRST_BLS_KEY + number), 'buffer'))
    credentials[0] = 0
    return credentials
  })
}

/** The signed change of a genesis validator with `bls` credentials. */
export function blsChange(validatorIndex: number): capella.SignedBLSToExecutionChange {
  return once(`change ${validatorIndex}`, () => {
    const message = {
      validatorIndex,
      fromBlsPubkey: keyBytes(FIRST_BLS_KEY + validatorIndex),
      toExecutionAddress: addressOf(validatorIndex),
    }
    const domain = computeDomain(DOMAIN_BLS_TO_EXECUTION_CHANGE, GENESIS_FORK_VERSION, GENESIS_VALIDATORS_ROOT)
    const root = computeSigningRoot(ssz.capella.BLSToExecutionChange, message, domain)
    return {
      message,
      signature: secretKey(FIRST_BLS_KEY + validatorIndex)
        .sign(root)
        .toBytes(),
    }
  })
}

/** The n-th deposit that makes a new validator; its key decides on credentials and amount. */
export function newDeposit(n: number): phase0.DepositData {
  const place = n % NEW_KEYS
  const number = FIRST_NEW_KEY + place
  return once(`deposit ${number}`, () => {
    const kinds: readonly Credentials[] = ['eth1', 'compounding', 'eth1', 'bls']
    const message = {
      pubkey: keyBytes(number),
      withdrawalCredentials: credentialsOf(number, kinds[place % kinds.length] as Credentials),
      amount: NEW_AMOUNTS_GWEI[place % NEW_AMOUNTS_GWEI.length] as number,
    }
    const domain = computeDomain(DOMAIN_DEPOSIT, GENESIS_FORK_VERSION, ZERO_HASH)
    const root = computeSigningRoot(ssz.phase0.DepositMessage, message, domain)
    return { ...message, signature: secretKey(number).sign(root).toBytes() }
  })
}

/** Signed by nobody, or by the right key for another deposit. */
export function badlySigned(deposit: phase0.DepositData, dice: Dice): phase0.DepositData {
  if (dice.chance(0.2)) return { ...deposit, amount: deposit.amount + 1 }
  return { ...deposit, signature: new Uint8Array(96) }
}

/** Signatures and credentials of top-ups are not looked at. */
export function topUp(pubkey: Uint8Array, dice: Dice): phase0.DepositData {
  const amount = dice.pick([1, 2, 5, 33]) * GWEI_PER_ETH + dice.whole(0, 999_999_999)
  return { pubkey, withdrawalCredentials: new Uint8Array(32), amount, signature: new Uint8Array(96) }
}

/** The deposit contract's tree over a fixed list of deposits. */
export class DepositTree {
  readonly #deposits: readonly phase0.DepositData[]
  readonly #roots

  constructor(deposits: readonly phase0.DepositData[]) {
    this.#deposits = deposits
    this.#roots = ssz.phase0.DepositDataRootList.toViewDU(
      deposits.map((deposit) => ssz.phase0.DepositData.hashTreeRoot(deposit)),
    )
  }

  get size(): number {
    return this.#deposits.length
  }

  eth1Data(count: number): phase0.Eth1Data {
    const depositRoot = this.#first(count).hashTreeRoot()
    return { depositRoot, depositCount: BigInt(count), blockHash: new Uint8Array(32).fill(count) }
  }

  /** Deposits of the contract's first `count`, with their proofs. */
  deposits(count: number, from: number, to: number): phase0.Deposit[] {
    const tree = new Tree(this.#first(count).node)
    return this.#deposits.slice(from, to).map((data, i) => {
      const { gindex } = ssz.phase0.DepositDataRootList.getPathInfo([from + i])
      return { data, proof: tree.getSingleProof(gindex) }
    })
  }

  #first(count: number) {
    const first = this.#roots.sliceTo(count - 1)
    first.commit()
    return first
  }
}
