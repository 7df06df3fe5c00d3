import { PublicKey, Signature, verify } from '@chainsafe/blst'
import { depositDomain, depositMessageRoot } from '../../schemas/eth/deposit-data.ts'
import { signingRoot } from '../../schemas/eth/signing-root.ts'
import type { StateDeposit } from '../../schemas/eth/transition/state-columns.ts'

/**
 * Whether a deposit is signed by its own key (consensus-specs, electra: is_valid_deposit_signature). The fork version, 4 bytes, is that
 * which the chain began with. Bytes that are no key or no signature are a deposit that is not signed.
 */
export function isDepositSigned(deposit: StateDeposit, genesisForkVersion: Uint8Array): boolean {
  const { pubkey, withdrawalCredentials, amountGwei, signature } = deposit
  const message = { pubkey, withdrawalCredentials, amountGwei: BigInt(amountGwei) }
  const signed = signingRoot(depositMessageRoot(message), depositDomain(genesisForkVersion))
  const [key, signatureRead] = [
    pointOf(() => PublicKey.fromBytes(pubkey, true)),
    pointOf(() => Signature.fromBytes(signature, true)),
  ]
  return key !== undefined && signatureRead !== undefined && verify(signed, key, signatureRead)
}

/** The library throws for bytes that are no point of the curve's group: anybody may deposit with such. */
function pointOf<Point>(read: () => Point): Point | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
