import { hexOf } from '../../schemas/eth/hex.ts'
import type { ClaimedValidators, RegistryWord, ValidatorIdentity } from '../ports/beacon-source.ts'
import { CREDENTIALS_BYTES, PUBKEY_BYTES, type RegistryScan } from './registry-scan.ts'
import { VALIDATOR_BYTES } from './state-layout.ts'

/** What a registry (the records of the state of a slot, which was scanned last) says of who somebody said these validators are. */
export function wordOfRegistry(
  { slot, registry, scan }: { readonly slot: number; readonly registry: Buffer; readonly scan: RegistryScan },
  { indices, pubkeys }: ClaimedValidators,
): RegistryWord {
  const validators = registry.length / VALIDATOR_BYTES
  const credentials = new Uint8Array(indices.length * CREDENTIALS_BYTES)
  const wrong: number[] = []
  for (let place = 0; place < indices.length; place++) {
    const [at, from] = [(indices[place] as number) * VALIDATOR_BYTES, place * PUBKEY_BYTES]
    const isIn = at < registry.length
    if (!isIn || registry.compare(pubkeys, from, from + PUBKEY_BYTES, at, at + PUBKEY_BYTES) !== 0) wrong.push(place)
    else registry.copy(credentials, place * CREDENTIALS_BYTES, at + PUBKEY_BYTES, at + PUBKEY_BYTES + CREDENTIALS_BYTES)
  }
  if (wrong.length === 0) return { slot, credentials, contradicted: [] }
  const keyAt = (place: number) => pubkeys.subarray(place * PUBKEY_BYTES, (place + 1) * PUBKEY_BYTES)
  const identityAt = (index: number | undefined): ValidatorIdentity | undefined => {
    if (index === undefined || index >= validators) return undefined
    const record = registry.subarray(index * VALIDATOR_BYTES, (index + 1) * VALIDATOR_BYTES)
    const withdrawalCredentials = hexOf(record.subarray(PUBKEY_BYTES, PUBKEY_BYTES + CREDENTIALS_BYTES))
    return { index, pubkey: hexOf(record.subarray(0, PUBKEY_BYTES)), withdrawalCredentials }
  }
  const contradicted = wrong.map((place) => {
    return { place, holder: identityAt(indices[place]), right: identityAt(scan.indexOf(keyAt(place))) }
  })
  return { slot, credentials, contradicted }
}
