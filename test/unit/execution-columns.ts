import { bytesOf } from '../../schemas/eth/hex.ts'
import type { TransactionColumns } from '../../schemas/events/execution-block.ts'
import type { LogColumns } from '../../schemas/events/execution-logs.ts'

export interface GivenTransaction {
  readonly type?: number
  readonly succeeded?: boolean
  readonly gasUsed?: bigint
  readonly priceWei?: bigint
  readonly sender?: string
  /** null creates a contract. */
  readonly recipient?: string | null
  readonly valueWei?: bigint
  readonly hash?: string
}

const ZERO_ADDRESS = `0x${'00'.repeat(20)}`
const ZERO_HASH = `0x${'00'.repeat(32)}`
const joined = (texts: readonly string[]) => new Uint8Array(Buffer.concat(texts.map(bytesOf)))

/** Columns of transactions of which only what matters is named. */
export function transactionColumns(rows: readonly GivenTransaction[]): TransactionColumns {
  return {
    type: Uint8Array.from(rows, ({ type = 2 }) => type),
    succeeded: Uint8Array.from(rows, ({ succeeded = true }) => (succeeded ? 1 : 0)),
    gasUsed: BigUint64Array.from(rows, ({ gasUsed = 21_000n }) => gasUsed),
    effectiveGasPriceWei: rows.map(({ priceWei = 0n }) => priceWei),
    sender: joined(rows.map(({ sender = ZERO_ADDRESS }) => sender)),
    recipient: joined(rows.map(({ recipient }) => recipient ?? ZERO_ADDRESS)),
    isCreation: Uint8Array.from(rows, ({ recipient }) => (recipient === null ? 1 : 0)),
    valueWei: rows.map(({ valueWei = 0n }) => valueWei),
    hash: joined(rows.map(({ hash = ZERO_HASH }) => hash)),
  }
}

export const NO_LOGS: LogColumns = {
  logIndex: new Uint32Array(0),
  transactionIndex: new Uint32Array(0),
  transactionHash: new Uint8Array(0),
  address: new Uint8Array(0),
  topics: [],
  data: [],
}
