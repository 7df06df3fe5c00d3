import { hexOf } from '../../schemas/eth/hex.ts'
import type { Wei } from '../../schemas/eth/units.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import {
  ADDRESS_BYTES,
  type EarlierExecutionBlock,
  type ExecutionBlockData,
  HASH_BYTES,
  type WholeExecutionBlock,
} from '../../schemas/events/execution-block.ts'
import type { Payer } from '../../schemas/tables/execution.ts'

/** Gas of a transaction that runs no code: one that took more has called or made a contract, or carried data to nobody. */
const PLAIN_TRANSFER_GAS = 21_000n
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`
/** Where payments stand: a refund may follow one. */
const CLOSING_TRANSACTIONS = 2

/** A transaction by which whoever made the block may have paid its proposer. */
export interface PaymentEvidence {
  readonly transactionIndex: number
  readonly transactionHash: string
  readonly sender: string
  /** Of a creation the new contract, the zero address where it failed. */
  readonly recipient: string
  readonly valueWei: Wei
  readonly succeeded: boolean
  readonly payer: Payer
  /** More than the base fee was paid for it, as everybody does who has not made the block. */
  readonly paysTip: boolean
  /** The value went into a contract, which may have passed it on. */
  readonly runsCode: boolean
}

/** Whether the block was told with the senders of all that may be a payment; earlier releases have proven that of the last transaction alone. */
export function hasWholeEvidence({ earlier, header }: ExecutionBlockData): boolean {
  return earlier === undefined && header.provenSenders !== undefined
}

/**
 * What may be a payment, by the block's own transactions: whatever the coinbase has sent, in any place, and what somebody else has
 * sent at the block's end, as a builder does that pays from another wallet. Only proven senders count; nobody pays himself or the zero
 * address. Whether the recipient is the proposer is told by whom the proposer is known to be: `blockRevenuesSql`.
 */
export function paymentEvidence(block: ExecutionBlockData): readonly PaymentEvidence[] {
  if (block.earlier !== undefined) return lastTransferOf(block)
  const { provenSenders } = block.header
  if (provenSenders === undefined) return lastOfEarlier(block)
  return provenSenders.map((index) => transferAt(block, index)).filter((one) => isEvidence(block, one))
}

/** Whether the block ends with what may be a payment to somebody; what a coinbase sends before that is its own business. */
export function paysSomebody(block: ExecutionBlockData): boolean {
  return paymentEvidence(block).some(({ recipient, payer, paysTip, transactionIndex }) => {
    if (recipient === block.header.coinbase) return false
    return payer === 'coinbase' ? isClosing(block, transactionIndex) : !paysTip
  })
}

function isClosing({ columns }: ExecutionBlockData, index: number): boolean {
  return index + CLOSING_TRANSACTIONS >= columns.gasUsed.length
}

function isEvidence(block: WholeExecutionBlock, { transactionIndex, recipient, ...one }: PaymentEvidence): boolean {
  const isNobodys = recipient === ZERO_ADDRESS && block.columns.isCreation[transactionIndex] !== 1
  if (one.valueWei === 0n || recipient === one.sender || isNobodys) return false
  if (one.payer === 'coinbase') return true
  return isClosing(block, transactionIndex) && one.valueWei > feeWei(block, transactionIndex)
}

function transferAt(block: WholeExecutionBlock, index: number): PaymentEvidence {
  const { header, columns } = block
  const sender = hexOf(bytesOfRow(columns.sender, index, ADDRESS_BYTES))
  return {
    transactionIndex: index,
    transactionHash: hexOf(bytesOfRow(columns.hash, index, HASH_BYTES)),
    sender,
    recipient: hexOf(bytesOfRow(columns.recipient, index, ADDRESS_BYTES)),
    valueWei: columns.valueWei[index] as bigint,
    succeeded: columns.succeeded[index] === 1,
    payer: sender === header.coinbase ? 'coinbase' : 'other',
    paysTip: paysTip(block, index),
    runsCode: columns.isCreation[index] === 1 || (columns.gasUsed[index] as bigint) > PLAIN_TRANSFER_GAS,
  }
}

function paysTip({ header, columns }: ExecutionBlockData, index: number): boolean {
  return (columns.effectiveGasPriceWei[index] as bigint) > BigInt(header.baseFeePerGasWei)
}

/** What is worth less than its own gas is spam of one wei, and no payment of a builder from another wallet. */
function feeWei({ columns }: WholeExecutionBlock, index: number): Wei {
  return (columns.gasUsed[index] as bigint) * (columns.effectiveGasPriceWei[index] as bigint)
}

/**
 * Of blocks of versions 2 and 3 what the coinbase has sent somebody in the last transaction: all that the releases that told them have
 * looked at, so that figures stay as they were served.
 */
function lastOfEarlier(block: WholeExecutionBlock): readonly PaymentEvidence[] {
  const last = block.columns.gasUsed.length - 1
  if (last < 0 || block.columns.isCreation[last] === 1) return []
  const transfer = transferAt(block, last)
  return transfer.payer === 'coinbase' && transfer.recipient !== transfer.sender && transfer.valueWei > 0n
    ? [transfer]
    : []
}

/** Blocks of version 1 name transfers of their coinbase; who has sent them is proven of the last one. */
function lastTransferOf(block: EarlierExecutionBlock): readonly PaymentEvidence[] {
  const { header, columns, earlier } = block
  const last = columns.gasUsed.length - 1
  const transfer = earlier.coinbaseTransfers.find(({ transactionIndex }) => transactionIndex === last)
  if (transfer === undefined || transfer.to === null || transfer.to === header.coinbase) return []
  const valueWei = BigInt(transfer.valueWei)
  if (valueWei === 0n) return []
  return [
    {
      transactionIndex: last,
      transactionHash: transfer.transactionHash,
      sender: header.coinbase,
      recipient: transfer.to,
      valueWei,
      succeeded: transfer.succeeded,
      payer: 'coinbase',
      paysTip: paysTip(block, last),
      runsCode: (columns.gasUsed[last] as bigint) > PLAIN_TRANSFER_GAS,
    },
  ]
}
