import type { TimeSlices } from '../loop/time-slices.ts'
import { type FoldState, NOBODY } from './fold-state.ts'
import { TRANSFER } from './read-step.ts'

/** Parts of a step's transfers by their numbers in the state, which has all that they touch. */
export class TransferParts {
  readonly contract: Int32Array
  readonly token: Int32Array
  readonly from: Int32Array
  readonly to: Int32Array

  private constructor(transfers: number) {
    this.contract = new Int32Array(transfers)
    this.token = new Int32Array(transfers)
    this.from = new Int32Array(transfers)
    this.to = new Int32Array(transfers)
  }

  /** Of transfers in words. */
  static async of(transfers: Uint32Array, state: FoldState, slices: TimeSlices): Promise<TransferParts> {
    const count = transfers.length / TRANSFER.row
    const parts = new TransferParts(count)
    await state.reserve(count, slices)
    for (let i = 0, at = 0; i < count; i++, at += TRANSFER.row) {
      const isMany = transfers[at + TRANSFER.isMany] === 1
      const contract = state.contractAt(transfers, at + TRANSFER.contract)
      const token = state.tokenAt(contract, isMany, transfers, at + TRANSFER.tokenId)
      const from = state.accountAt(transfers, at + TRANSFER.from)
      const to = state.accountAt(transfers, at + TRANSFER.to)
      parts.contract[i] = contract
      parts.token[i] = token
      parts.from[i] = from
      parts.to[i] = to
      for (const account of [from, to]) {
        if (account === NOBODY) continue
        state.pairOf(contract, account)
        if (isMany) state.holdingOf(token, account)
      }
      if (slices.isOver()) await slices.next()
    }
    return parts
  }
}
