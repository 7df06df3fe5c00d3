import { type Argument, encodeCall, packedBytes } from './call-data.ts'
import { bytesOf, type Hex } from './hex.ts'
import type { Gwei, Wei } from './units.ts'

// EIP-7002: what a withdrawal address asks of its validators, through a contract that every network has at one address.

/** Storage of the contract: how many requests there were above the target; 2^256 - 1 before its fork. */
export const EXCESS_SLOT = '0x0'
const EXCESS_INHIBITOR = (1n << 256n) - 1n
const FEE_WEI_MIN = 1n
const FEE_UPDATE_FRACTION = 17n
/** Requests that may come before this one: a fee that was quoted is still enough after so many. */
const REQUESTS_AHEAD = 32n

/** Whether the contract takes requests. */
export function takesRequests(excess: bigint): boolean {
  return excess !== EXCESS_INHIBITOR
}

/** Wei that a request costs at an excess. */
export function requestFee(excess: bigint): Wei {
  return fakeExponential(FEE_WEI_MIN, excess, FEE_UPDATE_FRACTION)
}

/** What is sent with a request: twice the fee, or the fee after 32 more requests. What is above the fee is not given back. */
export function offeredFee(excess: bigint): Wei {
  const [twice, later] = [2n * requestFee(excess), requestFee(excess + REQUESTS_AHEAD)]
  return twice > later ? twice : later
}

/** factor * e^(numerator / denominator) by its Taylor series, as EIP-7002 has it. */
function fakeExponential(factor: bigint, numerator: bigint, denominator: bigint): bigint {
  let output = 0n
  let term = factor * denominator
  for (let i = 1n; term > 0n; i++) {
    output += term
    term = (term * numerator) / (denominator * i)
  }
  return output / denominator
}

const AMOUNT_DIGITS = 16

/** Call data of a request: public key (lower-case hex) and amount, 8 bytes big-endian; 0 gwei is all, an exit. */
export function requestCall(pubkey: string, amountGwei: Gwei): Hex {
  return `0x${pubkey.slice(2)}${amountGwei.toString(16).padStart(AMOUNT_DIGITS, '0')}`
}

// Exits that a withdrawal address asks its operator for: infra/devnet/contracts/exit-request.sol.

/** Validators that one request names. */
export const REQUESTED_EXITS_MAX = 100
const REQUEST_EXITS = '0xd1054356' // requestExits(bytes)
const REQUEST_ALL_EXITS = '0xdacd0c53' // requestAllExits()

/** Call data that asks for the exits of these public keys (hex), or of all of the sender's validators. */
export function exitRequestCall(pubkeys: readonly string[] | 'all'): Hex {
  if (pubkeys === 'all') return REQUEST_ALL_EXITS
  const packed: Argument = packedBytes(pubkeys.map(bytesOf))
  return encodeCall(REQUEST_EXITS, [packed])
}
