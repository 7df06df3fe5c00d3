import { bytesOf } from '../../schemas/eth/hex.ts'
import type { BlockEvidence, ExplainedBalance } from '../../schemas/events/block-evidence.ts'
import type { ExecutionBlockData } from '../../schemas/events/execution-block.ts'
import { noRows, type TableRows, textColumn } from '../loop/rows.ts'
import { hasWholeEvidence, paymentEvidence, paysSomebody } from './payment-evidence.ts'

/** Words by which builders of mainnet call themselves. Nothing is paid by them: they tell a builder's block from a local one. */
const BUILDER_NAMES =
  /builder|beaver|titan|rsync|flashbots|bloxroute|illuminate|jetbldr|quasar|manifold|blocknative|eureka|turbo|penguin|payload\.de/i

/** Whether `extraData`, hex, names a builder: a hint, since anybody may write anything there. */
function namesBuilder(extraData: string): boolean {
  return BUILDER_NAMES.test(Buffer.from(bytesOf(extraData)).toString('latin1'))
}

/** What a block's row says of its evidence. Of what earlier releases have told, figures stay as they were served: no hint counts. */
export function evidenceColumns(block: ExecutionBlockData) {
  const hasEvidence = hasWholeEvidence(block)
  return {
    names_builder: Uint8Array.of(Number(hasEvidence && namesBuilder(block.header.extraData))),
    pays_somebody: Uint8Array.of(Number(paysSomebody(block))),
    has_evidence: Uint8Array.of(Number(hasEvidence)),
  }
}

/** What may be a payment, one row per transaction. */
export function paymentRows(
  block: ExecutionBlockData,
  { chain, version }: { readonly chain: string; readonly version: bigint },
): TableRows {
  const payments = paymentEvidence(block)
  if (payments.length === 0) return noRows('block_payments')
  return {
    table: 'block_payments',
    columns: {
      chain: textColumn(payments.length, chain),
      block_hash: textColumn(payments.length, block.header.hash),
      transaction_index: Uint32Array.from(payments, ({ transactionIndex }) => transactionIndex),
      transaction_hash: payments.map(({ transactionHash }) => transactionHash),
      sender: payments.map(({ sender }) => sender),
      recipient: payments.map(({ recipient }) => recipient),
      value_wei: payments.map(({ valueWei }) => valueWei),
      succeeded: Uint8Array.from(payments, ({ succeeded }) => Number(succeeded)),
      payer: payments.map(({ payer }) => payer),
      pays_tip: Uint8Array.from(payments, ({ paysTip }) => Number(paysTip)),
      runs_code: Uint8Array.from(payments, ({ runsCode }) => Number(runsCode)),
      version: BigUint64Array.from(payments, () => version),
    },
  }
}

/** What a node and relays say of a block, one row for each address and claim. */
export function evidenceRows(evidence: BlockEvidence, version: bigint): readonly TableRows[] {
  return [balanceRows(evidence, version), claimRows(evidence, version)]
}

function balanceRows({ chain, hash, balances }: BlockEvidence, version: bigint): TableRows {
  if (balances.length === 0) return noRows('block_balances')
  const wei = (name: keyof ExplainedBalance) => balances.map(({ change }) => BigInt(change[name]))
  return {
    table: 'block_balances',
    columns: {
      chain: textColumn(balances.length, chain),
      block_hash: textColumn(balances.length, hash),
      address: balances.map(({ address }) => address),
      before_wei: wei('beforeWei'),
      after_wei: wei('afterWei'),
      withdrawals_wei: wei('withdrawalsWei'),
      received_wei: wei('receivedWei'),
      spent_wei: wei('spentWei'),
      tips_wei: wei('tipsWei'),
      internal_wei: balances.map(({ change }) => internalWei(change)),
      version: BigUint64Array.from(balances, () => version),
    },
  }
}

/** What contracts have paid to the address, less what it let them have as one: the rest of the difference. */
function internalWei({ beforeWei, afterWei, ...explained }: ExplainedBalance): bigint {
  const { withdrawalsWei, receivedWei, spentWei, tipsWei } = explained
  const gained = BigInt(withdrawalsWei) + BigInt(receivedWei) + BigInt(tipsWei) - BigInt(spentWei)
  return BigInt(afterWei) - BigInt(beforeWei) - gained
}

function claimRows({ chain, hash, claims }: BlockEvidence, version: bigint): TableRows {
  if (claims.length === 0) return noRows('relay_claims')
  return {
    table: 'relay_claims',
    columns: {
      chain: textColumn(claims.length, chain),
      block_hash: textColumn(claims.length, hash),
      relay: claims.map(({ relay }) => relay),
      value_wei: claims.map(({ valueWei }) => BigInt(valueWei)),
      fee_recipient: claims.map(({ feeRecipient }) => feeRecipient),
      proposer_pubkey: claims.map(({ proposerPubkey }) => proposerPubkey),
      builder_pubkey: claims.map(({ builderPubkey }) => builderPubkey),
      slot: BigUint64Array.from(claims, ({ slot }) => BigInt(slot)),
      version: BigUint64Array.from(claims, () => version),
    },
  }
}
