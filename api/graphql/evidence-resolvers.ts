import { checksumAddress } from '../../schemas/eth/address.ts'
import type { BlockEvidenceRow } from '../rewards/select-evidence.ts'

type Payment = BlockEvidenceRow['payments'][number]
type Balance = BlockEvidenceRow['balances'][number]
type Claim = BlockEvidenceRow['claims'][number]

export const evidenceResolvers = {
  BlockEvidence: {
    extraData: (row: BlockEvidenceRow) => row.extra_data,
  },
  BlockPayment: {
    transactionIndex: (row: Payment) => row.transaction_index,
    transactionHash: (row: Payment) => row.transaction_hash,
    sender: (row: Payment) => checksumAddress(row.sender),
    recipient: (row: Payment) => checksumAddress(row.recipient),
    valueWei: (row: Payment) => row.value_wei,
    succeeded: (row: Payment) => row.succeeded === 1,
    isOfCoinbase: (row: Payment) => row.payer === 'coinbase',
    paysTip: (row: Payment) => row.pays_tip === 1,
    runsCode: (row: Payment) => row.runs_code === 1,
  },
  BlockBalance: {
    address: (row: Balance) => checksumAddress(row.address),
    beforeWei: (row: Balance) => row.before_wei,
    afterWei: (row: Balance) => row.after_wei,
    withdrawalsWei: (row: Balance) => row.withdrawals_wei,
    receivedWei: (row: Balance) => row.received_wei,
    spentWei: (row: Balance) => row.spent_wei,
    tipsWei: (row: Balance) => row.tips_wei,
    internalWei: (row: Balance) => row.internal_wei,
  },
  RelayClaim: {
    valueWei: (row: Claim) => row.value_wei,
    feeRecipient: (row: Claim) => checksumAddress(row.fee_recipient),
    proposerPubkey: (row: Claim) => row.proposer_pubkey,
    builderPubkey: (row: Claim) => row.builder_pubkey,
    slot: (row: Claim) => Number(row.slot),
  },
}
