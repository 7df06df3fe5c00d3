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
  const signature = key.sign(exitMessage(exit, terms)).toBytes()
  requireExitSignature(signature, exit, terms)
  return signature
}

/** 32 bytes: what is signed. */
export function exitMessage(exit: ExitToSign, { capellaForkVersion, genesisValidatorsRoot }: ExitTerms): Uint8Array {
  return signingRoot(voluntaryExitRoot(exit), voluntaryExitDomain(capellaForkVersion, genesisValidatorsRoot))
}

/** Throws AppError `key_vault` for one that is not the exit's, whoever has made it. */
export function requireExitSignature(signature: Uint8Array, exit: ExitToSign, terms: ExitTerms): void {
  if (holds(signature, exit, terms)) return
  throw new AppError(
    'key_vault',
    'The signature of an exit that the key vault has just made does not hold, so none was handed out: this machine does not compute as it should, or the vault was tampered with.',
  )
}

function holds(signature: Uint8Array, exit: ExitToSign, terms: ExitTerms): boolean {
  try {
    const point = Signature.fromBytes(signature, true)
    return verify(exitMessage(exit, terms), PublicKey.fromBytes(bytesOf(exit.pubkey)), point)
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('BLST_')) return false // no point
    throw error
  }
}
