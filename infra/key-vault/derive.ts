import { SecretKey } from '@chainsafe/blst'

/** EIP-2334: m / purpose / coin type / account / use / signing key. The account is the key's index, the rest is fixed. */
const PURPOSE = 12381
const COIN_TYPE_ETH = 3600
const WITHDRAWAL_USE = 0
const SIGNING_KEY = 0

/** The key at m/12381/3600, which all signing keys of a seed have in common: two of five steps less for each. */
export function deriveCommonKey(seed: Uint8Array): SecretKey {
  return deriveKey(seed, [PURPOSE, COIN_TYPE_ETH])
}

/** The key at m/12381/3600/<index>/0/0; the index is below 2^32 (EIP-2333). */
export function deriveSigningKey(commonKey: SecretKey, index: number): SecretKey {
  return commonKey.deriveChildEip2333(index).deriveChildEip2333(WITHDRAWAL_USE).deriveChildEip2333(SIGNING_KEY)
}

/** EIP-2334's name of the key at an index. */
export function derivedPath(index: number): string {
  return `m/${PURPOSE}/${COIN_TYPE_ETH}/${index}/${WITHDRAWAL_USE}/${SIGNING_KEY}`
}

/** The key of a seed (at least 32 bytes) at a path of indices below 2^32; an empty path is the master key (EIP-2333). */
export function deriveKey(seed: Uint8Array, path: readonly number[]): SecretKey {
  return path.reduce((key, index) => key.deriveChildEip2333(index), SecretKey.deriveMasterEip2333(seed))
}
