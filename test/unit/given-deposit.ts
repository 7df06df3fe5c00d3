import { encodeAbiParameters } from 'viem'
import { hexOf } from '../../schemas/eth/hex.ts'
import { DEPOSIT_EVENT_TOPIC } from '../../schemas/eth/kept-logs.ts'
import { littleEndian64 } from './deposit-root.ts'
import { randomBytes } from './random-bytes.ts'

export interface GivenDeposit {
  readonly pubkey: Uint8Array
  readonly withdrawalCredentials: Uint8Array
  readonly amountGwei: bigint
  readonly signature: Uint8Array
  readonly index: bigint
}

/** A deposit that is random but for what is named. */
export function givenDeposit(seed: number, named: Partial<GivenDeposit> = {}): GivenDeposit {
  return {
    pubkey: randomBytes(48, seed),
    withdrawalCredentials: randomBytes(32, seed + 1),
    amountGwei: 32_000_000_000n,
    signature: randomBytes(96, seed + 2),
    index: BigInt(seed),
    ...named,
  }
}

/** The log that the deposit contract emits, as viem encodes it. */
export function depositLog(deposit: GivenDeposit): { readonly topics: readonly string[]; readonly data: string } {
  const fields = [
    deposit.pubkey,
    deposit.withdrawalCredentials,
    littleEndian64(deposit.amountGwei),
    deposit.signature,
    littleEndian64(deposit.index),
  ]
  const data = encodeAbiParameters(
    fields.map(() => ({ type: 'bytes' })),
    fields.map((field) => hexOf(field)),
  )
  return { topics: [DEPOSIT_EVENT_TOPIC], data }
}
