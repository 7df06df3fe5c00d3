import { PublicKey, type SecretKey, Signature, verify } from '@chainsafe/blst'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { signingRoot } from '../../schemas/eth/signing-root.ts'
import { voluntaryExitDomain, voluntaryExitRoot } from '../../schemas/eth/voluntary-exit.ts'
import type { ExitTerms, ExitToSign } from '../ports/key-vault.ts'

/**
 * 96 bytes: the signature of an exit, verified with the public key that the exit is for, so that a wrong key is found here too. Throws
 * AppError `key_vault` where it does not hold.
 */
export function signExit(key: SecretKey, exit: ExitToSign, terms: ExitTerms): Uint8Array {
  const { capellaForkVersion, genesisValidatorsRoot } = terms
  const message = signingRoot(voluntaryExitRoot(exit), voluntaryExitDomain(capellaForkVersion, genesisValidatorsRoot))
  const signature = key.sign(message).toBytes()
  if (verify(message, PublicKey.fromBytes(bytesOf(exit.pubkey)), Signature.fromBytes(signature))) return signature
  throw new AppError(
    'key_vault',
    'The signature of an exit that the key vault has just made does not hold, so none was handed out: this machine does not compute as it should, or the vault was tampered with.',
  )
}
