import { fileURLToPath } from 'node:url'
import { type ContractFolder, writeArtifacts } from '../../infra/devnet/contracts/compile.ts'

/** Batch deposit contracts of other kinds than the devnet's: what our transactions are tried on. */
export const STAKING_CONTRACTS: ContractFolder = {
  folder: new URL('.', import.meta.url),
  files: {
    KilnBatchDeposit: 'kiln-batch-deposit.sol',
    StakefishBatchDeposit: 'stakefish-batch-deposit.sol',
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeArtifacts(STAKING_CONTRACTS)
