import { ssz } from '@lodestar/types'
import { depositDataFor } from '../../infra/devnet/consensus/deposits.ts'
import { bytesOf, type Hex } from '../../schemas/eth/hex.ts'
import type { SignedDeposit } from '../../schemas/eth/signed-deposit.ts'

/** Deposits of 32 ETH with real keys and signatures (the devnet's interop keys), each with the withdrawal address of its number. */
export function signedDeposits(count: number, withdrawalAddressOf: (validator: number) => Hex): SignedDeposit[] {
  return Array.from({ length: count }, (_, validator) => {
    const data = depositDataFor(validator, 32_000_000_000n, withdrawalAddressOf(validator))
    const pubkey = bytesOf(data.pubkey)
    const withdrawalCredentials = bytesOf(data.withdrawalCredentials)
    const message = { pubkey, withdrawalCredentials, amount: Number(data.amountGwei) }
    return {
      pubkey,
      withdrawalCredentials,
      amountGwei: data.amountGwei,
      signature: bytesOf(data.signature),
      messageRoot: ssz.phase0.DepositMessage.hashTreeRoot(message),
      dataRoot: bytesOf(data.depositDataRoot),
    }
  })
}
