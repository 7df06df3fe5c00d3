/**
 * What somebody has of a token: received less sent, below 0 and above 2^256 where a contract lies. A number as long as it is exact, so
 * that equal ones are `===`: most are small.
 */
export type Balance = number | bigint

const BITS = 256n
const AMOUNT_MAX = (1n << BITS) - 1n

export function sum(a: Balance, b: Balance): Balance {
  if (typeof a === 'number' && typeof b === 'number') {
    const both = a + b
    if (Number.isSafeInteger(both)) return both
  }
  return exact(BigInt(a) + BigInt(b))
}

export function negative(balance: Balance): Balance {
  // Not -0, which is no other number for anybody.
  return balance === 0 ? 0 : -balance
}

/** As a contract that kept to its standard could have it. */
export function shown(balance: Balance): Balance {
  if (balance < 0) return 0
  return balance > AMOUNT_MAX ? AMOUNT_MAX : balance
}

function exact(value: bigint): Balance {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : value
}

/** Of 256 bits, little-endian in words, and what is above them as a signed number. */
export function readBalance(words: Uint32Array, at: number, excess: bigint): Balance {
  let above = 0
  for (let i = 2; i < 8; i++) above |= words[at + i] as number
  const [low, high] = [words[at] as number, words[at + 1] as number]
  if (above === 0 && excess === 0n && high < 2 ** 21) return high * 2 ** 32 + low
  let value = excess
  for (let i = 7; i >= 0; i--) value = (value << 32n) | BigInt(words[at + i] as number)
  return exact(value)
}

/** Its lowest 256 bits into 8 words, and what is above them into the next 2. */
export function writeBalance(words: Uint32Array, at: number, balance: Balance): void {
  if (typeof balance === 'number' && balance >= 0) {
    words.fill(0, at, at + 10)
    words[at] = balance >>> 0
    words[at + 1] = Math.floor(balance / 2 ** 32)
    return
  }
  let rest = BigInt(balance)
  for (let i = 0; i < 10; i++) {
    words[at + i] = Number(rest & 0xffff_ffffn)
    rest >>= 32n
  }
}
