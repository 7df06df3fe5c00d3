import type { TransferEvent } from '../../schemas/eth/nft-transfers.ts'
import { TRANSFER_EVENTS } from '../../schemas/eth/nft-transfers.ts'
import type { TimeSlices } from '../loop/time-slices.ts'
import { isZero } from './block-rows.ts'
import { KeyTable } from './key-table.ts'
import { isOfSameBlock, TRANSFER } from './read-step.ts'

// What a log means may be said by others of its transaction. Its block's logs come in parts, of which each becomes rows by itself: so it is
// seen here, where all of a block is there, wherever it was cut.

// In 32-bit words.
const ADDRESS = 5
const WORD = 8
/** Contract, from, to and token, one behind the other. */
const MOVE = 3 * ADDRESS + WORD

const eventOf = (event: TransferEvent): number => TRANSFER_EVENTS.indexOf(event) + 1
const [SINGLE, RANGE, PUNK_BOUGHT] = [eventOf('Transfer'), eventOf('ConsecutiveTransfer'), eventOf('PunkBought')]

/**
 * Transfers in words, in the order of the chain, without those that others of their transaction tell, too, and with receivers that others
 * tell. In the same memory.
 */
export async function readTogether(transfers: Uint32Array, slices: TimeSlices): Promise<Uint32Array> {
  let kept = 0
  for (let first = 0; first < transfers.length; ) {
    let end = first
    let isPlain = true
    do {
      isPlain &&= isMeantByItself(transfers, end)
      end += TRANSFER.row
      if (slices.isOver()) await slices.next()
    } while (end < transfers.length && isOfSameTransaction(transfers, first, end))
    const places = isPlain ? undefined : await placesOf(transfers, { first, end }, slices)
    if (places === undefined) {
      if (kept < first) transfers.copyWithin(kept, first, end)
      kept += end - first
    }
    for (const at of places ?? []) {
      transfers.copyWithin(kept, at, at + TRANSFER.row)
      kept += TRANSFER.row
    }
    first = end
  }
  return transfers.subarray(0, kept)
}

interface Stretch {
  readonly first: number
  readonly end: number
}

/** Those of a transaction's transfers that count; receivers that were told before are filled in. */
async function placesOf(
  transfers: Uint32Array,
  { first, end }: Stretch,
  slices: TimeSlices,
): Promise<readonly number[]> {
  const singles = new KeyTable(MOVE)
  for (let at = first; at < end; at += TRANSFER.row) {
    if (transfers[at + TRANSFER.event] === SINGLE) singles.numberOf(transfers, at + TRANSFER.contract)
    if (slices.isOver()) await slices.next()
  }
  const places: number[] = []
  /** What tells only whom the next one goes to. */
  let telling: number | undefined
  for (let at = first; at < end; at += TRANSFER.row) {
    const event = transfers[at + TRANSFER.event]
    if (isReceiver(transfers, at)) telling = at
    // A mint that is told token by token and as a range, as some contracts do, is one mint.
    else if (event !== RANGE || singles.find(transfers, at + TRANSFER.contract) === -1) places.push(at)
    if (telling !== undefined && isOpenBid(transfers, at)) {
      transfers.copyWithin(at + TRANSFER.to, telling + TRANSFER.to, telling + TRANSFER.to + ADDRESS)
      telling = undefined
    }
    if (slices.isOver()) await slices.next()
  }
  return places
}

function isMeantByItself(transfers: Uint32Array, at: number): boolean {
  const event = transfers[at + TRANSFER.event]
  return event !== RANGE && event !== PUNK_BOUGHT && !isReceiver(transfers, at)
}

/** Of a Punk that was bought: the contract that makes such logs names nobody only where a bid was accepted. */
function isOpenBid(transfers: Uint32Array, at: number): boolean {
  return transfers[at + TRANSFER.event] === PUNK_BOUGHT && isZero(transfers, at + TRANSFER.to, ADDRESS)
}

/** Whether a row moves nothing, but tells whom the next one of its contract goes to: its token is one of a kind, and it has none of it. */
function isReceiver(transfers: Uint32Array, at: number): boolean {
  return transfers[at + TRANSFER.isMany] === 0 && isZero(transfers, at + TRANSFER.amount, WORD)
}

function isOfSameTransaction(transfers: Uint32Array, one: number, other: number): boolean {
  return (
    transfers[one + TRANSFER.transactionIndex] === transfers[other + TRANSFER.transactionIndex] &&
    isOfSameBlock(transfers, one, other)
  )
}
