import { isMarkedAsUntransferable } from 'node:worker_threads'
import { bytesOfView } from './bytes-of-view.ts'

// Memory of columns that come and go with every epoch. Left to the garbage collector, those of several epochs would lie there, and it would go
// over everything else to find them.

/** Smaller columns have memory of their own. */
export const LENT_BYTES_MIN = 1 << 14
/** Memory to lend has a multiple of it: lists grow by some in every epoch. */
const LENT_STEP_BYTES = 1 << 14
/** Of a larger one, multiples of so many parts of it. */
const LENT_PARTS = 16
/** What is kept to be lent again, of this thread: more than two states of mainnet take. */
const FREE_BYTES_MAX = 512 << 20
/** What nobody is lent for so long goes back to the system, at the latest after twice the time: at the head the next epoch comes minutes later. */
export const IDLE_MS = 5_000

export interface ColumnCtor<Column> {
  new (length: number): Column
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Column
  readonly BYTES_PER_ELEMENT: number
}

/** Memory that nobody has, since a round of looks for what is idle. */
interface FreeMemory {
  readonly memory: ArrayBuffer
  readonly round: number
}

/** Memories that are lent, and those that are free, the smallest first. */
const lent = new WeakSet<ArrayBufferLike>()
const free: FreeMemory[] = []
let freeBytes = 0
let round = 0
let isLookedFor = false

/** A column in memory that was given back before, where some of it fits: its values are whatever that has. */
export function lend<Column>(ctor: ColumnCtor<Column>, length: number): Column {
  const bytes = length * ctor.BYTES_PER_ELEMENT
  if (bytes < LENT_BYTES_MIN) return new ctor(length)
  const memory = takeFree(bytes) ?? new ArrayBuffer(roomFor(bytes))
  lent.add(memory)
  return new ctor(memory, 0, length)
}

/** As `lend`, of zeros. */
export function lendZeros<Column extends ArrayBufferView>(ctor: ColumnCtor<Column>, length: number): Column {
  const column = lend(ctor, length)
  bytesOfView(column).fill(0)
  return column
}

function roomFor(bytes: number): number {
  const step = Math.max(1, Math.floor(bytes / LENT_PARTS / LENT_STEP_BYTES)) * LENT_STEP_BYTES
  return Math.ceil(bytes / step) * step
}

/** The smallest that fits and is not twice as large; where there is none, what has become too small goes in its stead. */
function takeFree(bytes: number): ArrayBuffer | undefined {
  const place = placeOf(bytes)
  const found = free[place]?.memory
  if (found !== undefined && found.byteLength <= 2 * bytes + LENT_STEP_BYTES) return removeFree(place)
  const below = free[place - 1]?.memory
  if (below !== undefined && 2 * below.byteLength >= bytes) removeFree(place - 1).transfer(0)
  return undefined
}

/** Of the smallest free memory with so many bytes. */
function placeOf(bytes: number): number {
  const at = free.findIndex(({ memory }) => memory.byteLength >= bytes)
  return at === -1 ? free.length : at
}

function removeFree(place: number): ArrayBuffer {
  const [{ memory }] = free.splice(place, 1) as [FreeMemory]
  freeBytes -= memory.byteLength
  return memory
}

/** Its views are empty afterwards: what still has one sees nothing of who is lent the memory next. */
function keepFree(memory: ArrayBuffer): void {
  lent.delete(memory)
  const moved = memory.transfer()
  if (freeBytes + moved.byteLength > FREE_BYTES_MAX) {
    moved.transfer(0)
    return
  }
  free.splice(placeOf(moved.byteLength), 0, { memory: moved, round })
  freeBytes += moved.byteLength
  lookForIdle()
}

function lookForIdle(): void {
  if (isLookedFor) return
  isLookedFor = true
  setTimeout(dropIdle, IDLE_MS).unref()
}

/** Lets go of what was free all through the round. */
function dropIdle(): void {
  for (let place = free.length - 1; place >= 0; place--)
    if ((free[place] as FreeMemory).round < round) removeFree(place).transfer(0)
  round++
  isLookedFor = false
  if (free.length > 0) lookForIdle()
}

/** Memories that many views of different owners lie in. */
const shared = new WeakSet<ArrayBufferLike>()
/** What is smaller stays, as it is soon collected. */
const GIVEN_BYTES_MIN = 1 << 13
/** Bytes to be written to and given back: memory of their own, unless they are so few that it stays anyway. */
export function ownMemory(length: number): Buffer {
  return length < GIVEN_BYTES_MIN ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length)
}

/** Has a memory stay whatever is given back that lies in it: it is handed out in slices. Node's own pool for small buffers is known. */
export function keepShared(memory: ArrayBuffer): void {
  shared.add(memory)
}

/**
 * Gives back the memory of columns, which are empty afterwards: to be called by their only owner, behind the last that is read of them. A
 * column that is a part of another memory stays, unless it was lent.
 */
export function giveBack(
  columns: readonly (Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array)[],
): void {
  for (const { buffer, byteLength } of columns) {
    if (byteLength === 0 || !(buffer instanceof ArrayBuffer)) continue
    if (lent.has(buffer)) keepFree(buffer)
    else if (byteLength === buffer.byteLength) buffer.transfer(0)
  }
}

/**
 * Gives back the memories that views lie in, each as a whole, but for small ones, shared ones, and those that `kept` lie in as well: every view
 * into them is empty afterwards. To be called by their only owner, who has all of these views.
 */
export function giveBackWhole(views: Iterable<ArrayBufferView>, kept: Iterable<ArrayBufferView> = []): void {
  const stay = new Set<ArrayBufferLike>()
  for (const { buffer } of kept) stay.add(buffer)
  for (const { buffer } of views) {
    if (!(buffer instanceof ArrayBuffer) || stay.has(buffer)) continue
    if (lent.has(buffer)) keepFree(buffer)
    else if (isOwn(buffer)) buffer.transfer(0)
  }
}

function isOwn(memory: ArrayBuffer): boolean {
  // What Node hands out in slices it marks so.
  return memory.byteLength >= GIVEN_BYTES_MIN && !shared.has(memory) && !isMarkedAsUntransferable(memory)
}
