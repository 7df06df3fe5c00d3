import {
  BitArray,
  BitVectorType,
  BooleanType,
  ByteListType,
  ByteVectorType,
  ContainerType,
  type Type,
  UintBigintType,
  UintNumberType,
  VectorCompositeType,
} from '@chainsafe/ssz'
import { ssz } from '@lodestar/types'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SerializedState } from '../../infra/beacon/serialized-state.ts'
import { STATE_LAYOUTS } from '../../infra/beacon/state-layout.ts'
import { StateMemory } from '../../infra/beacon/state-memory.ts'
import { StateReception } from '../../infra/beacon/state-reception.ts'
import { StateRoots } from '../../infra/beacon/state-root.ts'
import { TRANSITION_FORKS, type TransitionFork } from '../../schemas/eth/transition/fork-rules.ts'
import { tries } from '../long-form.ts'

// Every state is made, serialized and hashed by the library's own views.

type Random = () => number
interface View {
  [field: string]: unknown
  serialize(): Uint8Array
  hashTreeRoot(): Uint8Array
}

/** Vectors of mainnet with thousands of entries: only some of them are set. */
const LONG = { blockRoots: 8192, stateRoots: 8192, randaoMixes: 65_536 }
const BY_VALIDATOR = ['balances', 'previousEpochParticipation', 'currentEpochParticipation', 'inactivityScores']
const OTHER_LISTS = [
  ...['historicalRoots', 'historicalSummaries', 'eth1DataVotes'],
  ...['pendingDeposits', 'pendingPartialWithdrawals', 'pendingConsolidations'],
]

function typesOf(fork: TransitionFork): Readonly<Record<string, Type<unknown>>> {
  return ssz[fork].BeaconState.fields
}

/** Numbers from 0 below 2^32, the same ones for a seed. */
function randomOf(seed: number): Random {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state ^ (state >>> 15)) >>> 0
  }
}

function randomBytes(length: number, random: Random): Uint8Array {
  return Uint8Array.from({ length }, () => random() & 255)
}

function randomValue(type: Type<unknown>, random: Random): unknown {
  if (type instanceof BooleanType) return random() % 2 === 1
  if (type instanceof UintNumberType) return random() % 2 ** Math.min(31, 8 * type.byteLength)
  if (type instanceof UintBigintType) return BigInt(random()) << BigInt(4 * type.byteLength)
  if (type instanceof ByteVectorType) return randomBytes(type.lengthBytes, random)
  if (type instanceof ByteListType) return randomBytes(random() % 33, random)
  if (type instanceof BitVectorType)
    return BitArray.fromBoolArray(Array.from({ length: type.lengthBits }, () => random() % 2 === 1))
  if (type instanceof VectorCompositeType)
    return Array.from({ length: type.length }, () => randomValue(type.elementType, random))
  if (!(type instanceof ContainerType)) return type.defaultValue()
  const fields = Object.entries<Type<unknown>>(type.fields)
  return Object.fromEntries(fields.map(([name, field]) => [name, randomValue(field, random)]))
}

/** A state of a branch: the lists that the next one goes on with, and the view that has them. */
class GivenState {
  readonly lists: Record<string, unknown[]> = {}
  readonly #fork: TransitionFork
  readonly #view: View
  readonly #random: Random

  constructor(fork: TransitionFork, seed: number) {
    this.#fork = fork
    this.#view = ssz[fork].BeaconState.defaultViewDU() as unknown as View
    this.#random = randomOf(seed)
  }

  /** Gives the registry so many validators and changes some; other lists lose some entries in front and get some behind. */
  step(validators: number): { readonly bytes: Uint8Array; readonly root: Uint8Array } {
    const types = typesOf(this.#fork)
    for (const [name, type] of Object.entries(types)) {
      if (name in LONG) this.#setSome(name as keyof typeof LONG)
      else if (name === 'validators' || BY_VALIDATOR.includes(name))
        this.#setList(name, this.#resized(name, validators))
      else if (OTHER_LISTS.includes(name)) this.#setList(name, this.#moved(name))
      else this.#set(name, randomValue(type, this.#random))
    }
    return { bytes: this.#view.serialize(), root: this.#view.hashTreeRoot() }
  }

  #resized(name: string, length: number): unknown[] {
    const list = this.lists[name] ?? []
    const entry = () => this.#entry(name)
    return Array.from({ length }, (_, i) => (i >= list.length || this.#random() % 8 === 0 ? entry() : list[i]))
  }

  #moved(name: string): unknown[] {
    const left = (this.lists[name] ?? []).slice(this.#random() % 3)
    return [...left, ...Array.from({ length: this.#random() % 20 }, () => this.#entry(name))]
  }

  #entry(name: string): unknown {
    const { elementType } = typesOf(this.#fork)[name] as unknown as { readonly elementType: Type<unknown> }
    return randomValue(elementType, this.#random)
  }

  #setList(name: string, list: unknown[]): void {
    this.lists[name] = list
    this.#set(name, list)
  }

  #set(name: string, value: unknown): void {
    const type = typesOf(this.#fork)[name] as { toViewDU?: (value: unknown) => unknown }
    this.#view[name] = type.toViewDU === undefined ? value : type.toViewDU(value)
  }

  #setSome(name: keyof typeof LONG): void {
    const roots = this.#view[name] as { set(at: number, root: Uint8Array): void }
    for (let i = 0; i < 4; i++) roots.set(this.#random() % LONG[name], randomBytes(32, this.#random))
  }
}

/** Around the places where a tree of validators, and of the chunks of their numbers, gets another node. */
const count = fc.oneof(fc.constantFrom(0, 1, 2, 15, 16, 17, 32, 33, 127, 129), fc.integer({ min: 0, max: 300 }))

test.each(TRANSITION_FORKS)('the roots of states of %s one after the other are those of the SSZ type', (fork) => {
  fc.assert(
    fc.property(fc.integer(), fc.array(count, { minLength: 4, maxLength: 6 }), (seed, counts) => {
      const given = new GivenState(fork, seed)
      const roots = new StateRoots()
      for (const validators of counts) {
        const { bytes, root } = given.step(validators)
        expect(roots.rootOf(fork, bytes), `with ${validators} validators`).toEqual(root)
      }
    }),
    { numRuns: tries(1, 100) },
  )
})

test.each(TRANSITION_FORKS)('states of %s that are received over each other have the roots of the SSZ type', (fork) => {
  fc.assert(
    fc.property(fc.integer(), fc.array(count, { minLength: 4, maxLength: 6 }), (seed, counts) => {
      const given = new GivenState(fork, seed)
      const random = randomOf(seed)
      const memory = new StateMemory()
      const roots = new StateRoots({ lent: true })
      const buffers = [Buffer.alloc(0), Buffer.alloc(0)]
      /** In pieces of any length; where it ends early, only so many bytes come. */
      const receive = (bytes: Uint8Array, buffer: 0 | 1, end = bytes.length): Uint8Array => {
        const room = (wanted: number) => {
          const had = buffers[buffer] as Buffer
          if (had.length < wanted) buffers[buffer] = Buffer.concat([had], wanted)
          return buffers[buffer] as Buffer
        }
        const toldBytes = random() % 2 === 0 ? bytes.length : 0
        const reception = new StateReception({ fork, toldBytes, bytesMax: 2 * bytes.length }, memory, room)
        for (let from = 0; from < end; ) {
          const to = Math.min(end, from + 1 + (random() % (random() % 2 === 0 ? 200 : 20_000)))
          reception.take(bytes.subarray(from, to))
          from = to
        }
        return reception.received()
      }
      let free: 0 | 1 = 0
      for (const validators of counts) {
        const { bytes, root } = given.step(validators)
        const other = new GivenState(fork, seed + 1).step(random() % 300).bytes
        if (random() % 2 === 0) receive(other, free, random() % other.length)
        const others = receive(bytes, free)
        const [apart, whole] = [new SerializedState(fork, others, memory.bytes), new SerializedState(fork, bytes)]
        expect(apart.length).toBe(bytes.length)
        for (const name of STATE_LAYOUTS.get(fork)?.variable ?? [])
          expect(Buffer.compare(apart.variable(name), whole.variable(name)), name).toBe(0)
        expect(roots.rootOf(fork, others, memory), `with ${validators} validators`).toEqual(root)
        free = free === 0 ? 1 : 0
      }
    }),
    { numRuns: tries(1, 100) },
  )
})

test('an answer that says wrongly where its registry lies is no state', () => {
  const { bytes } = new GivenState('fulu', 1).step(40)
  const layout = STATE_LAYOUTS.get('fulu')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (const [name, offset] of [
    ['validators', 0],
    ['validators', 2 ** 32 - 1],
    ['balances', 0],
    ['balances', bytes.length + 1],
  ] as const) {
    const at = layout?.at.get(name) ?? 0
    const right = view.getUint32(at, true)
    view.setUint32(at, offset, true)
    const memory = new StateMemory()
    const room = (wanted: number) => Buffer.alloc(Math.max(wanted, bytes.length))
    const reception = new StateReception({ fork: 'fulu', toldBytes: 0, bytesMax: bytes.length }, memory, room)
    reception.take(bytes)
    const others = reception.received()
    expect(() => new SerializedState('fulu', others, memory.bytes), `${name} at ${offset}`).toThrow(
      expect.objectContaining({ code: 'node_malformed' }),
    )
    view.setUint32(at, right, true)
  }
})

test('a state of another branch or fork has its root whatever was before it', () => {
  const branches = (['electra', 'electra', 'fulu'] as const).map((fork, seed) => {
    const given = new GivenState(fork, seed)
    return { fork, states: [70, 40, 71].map((validators) => given.step(validators)) }
  })
  const all = branches.flatMap(({ fork, states }) => states.map((state) => ({ fork, ...state })))
  const copied = new StateRoots()
  const lent = new StateRoots({ lent: true })
  for (const place of [0, 3, 0, 6, 1, 7, 8, 8, 4, 2, 5]) {
    const { fork, bytes, root } = all[place] as (typeof all)[number]
    expect(copied.rootOf(fork, bytes), `state ${place}`).toEqual(root)
    expect(lent.rootOf(fork, bytes), `state ${place}`).toEqual(root)
  }
})

test.each([{ lent: false }, { lent: true }])(
  'a buffer that is written over has the root of what is in it, $lent',
  (how) => {
    const given = new GivenState('fulu', 1)
    const [first, second] = [given.step(50), given.step(50)]
    const roots = new StateRoots(how)
    const buffer = Buffer.alloc(Math.max(first.bytes.length, second.bytes.length))
    for (const { bytes, root } of [first, second, second]) {
      buffer.set(bytes)
      expect(roots.rootOf('fulu', buffer.subarray(0, bytes.length))).toEqual(root)
      expect(buffer.subarray(0, bytes.length).equals(bytes), 'its bytes are as they were').toBe(true)
    }
  },
)

test('a registry of several batches that ends within a group has its root', () => {
  const given = new GivenState('altair', 4)
  const roots = new StateRoots()
  for (const validators of [2100, 2099]) {
    const { bytes, root } = given.step(validators)
    expect(roots.rootOf('altair', bytes)).toEqual(root)
  }
})

/** Letters are entries; the first of a later queue stands further behind in the one before it. */
const QUEUES = [
  { entries: 'three', queues: ['XAB', 'AA', 'AB'] },
  { entries: 'five, later of no,', queues: ['XABAB', 'AB', 'BABX', 'B', ''] },
  {
    entries: 'two groups of',
    queues: [
      `X${'A'.repeat(15)}${'BC'.repeat(8)}`,
      `${'A'.repeat(16)}${'BC'.repeat(8)}`,
      `${'A'.repeat(16)}${'BC'.repeat(7)}BX`,
    ],
  },
]

test.each(QUEUES)('a queue of $entries entries that are alike has its root after each move', ({ queues }) => {
  const view = ssz.fulu.BeaconState.defaultViewDU()
  const roots = new StateRoots()
  for (const queue of queues) {
    const consolidations = [...queue].map((letter) => ({ sourceIndex: letter.charCodeAt(0), targetIndex: 1 }))
    view.pendingConsolidations = ssz.electra.PendingConsolidations.toViewDU(consolidations)
    expect(roots.rootOf('fulu', view.serialize()), queue).toEqual(view.hashTreeRoot())
  }
})

test('one gwei more in one balance is another root, and without it the root is the one before', () => {
  const { bytes, root } = new GivenState('fulu', 2).step(100)
  const roots = new StateRoots()
  roots.rootOf('fulu', bytes)
  const changed = bytes.slice()
  const view = new DataView(changed.buffer)
  const balances = view.getUint32(STATE_LAYOUTS.get('fulu')?.at.get('balances') as number, true)
  view.setBigUint64(balances + 8 * 77, view.getBigUint64(balances + 8 * 77, true) + 1n, true)
  const expected = ssz.fulu.BeaconState.deserializeToViewDU(changed).hashTreeRoot()
  expect(expected).not.toEqual(root)
  expect(roots.rootOf('fulu', changed)).toEqual(expected)
  expect(roots.rootOf('fulu', bytes)).toEqual(root)
})

const { bytes: WHOLE, root: ROOT } = new GivenState('fulu', 3).step(20)
const AT = STATE_LAYOUTS.get('fulu')?.at as ReadonlyMap<string, number>
const offsetOf = (name: string) => new DataView(WHOLE.buffer).getUint32(AT.get(name) as number, true)

/** Of another slot, so that something is hashed again before the mistake is met. */
function changed(change: (bytes: Buffer) => void): Uint8Array {
  const bytes = Buffer.from(WHOLE)
  bytes.writeUInt32LE(1, AT.get('slot') as number)
  change(bytes)
  return bytes
}

function withOffset(name: string, more: number): Uint8Array {
  return changed((bytes) => bytes.writeUInt32LE(offsetOf(name) + more, AT.get(name) as number))
}

function withByte(at: number, value: number): Uint8Array {
  return changed((bytes) => bytes.writeUInt8(value, at))
}

const MALFORMED: readonly (readonly [string, Uint8Array])[] = [
  ['nothing', new Uint8Array(0)],
  ['less than the fixed part', WHOLE.slice(0, 1000)],
  ['an end within a record', WHOLE.slice(0, -1)],
  ['a first list that begins too late', withOffset('historicalRoots', 32)],
  ['a list that ends before it begins', withOffset('balances', -121 * 21)],
  ['a list beyond the end', withOffset('pendingConsolidations', 2 ** 24)],
  ['a registry of no whole records', withOffset('balances', 8)],
  ['balances of no whole numbers', withOffset('previousEpochParticipation', 1)],
  ['a validator who is neither slashed nor not', withByte(offsetOf('validators') + 121 * 7 + 88, 2)],
  ['a payload header whose list begins elsewhere', withByte(offsetOf('latestExecutionPayloadHeader') + 436, 1)],
]

test.each(MALFORMED)('%s is malformed, and the next state has its root', (_, bytes) => {
  const roots = new StateRoots()
  roots.rootOf('fulu', WHOLE)
  expect(() => roots.rootOf('fulu', bytes)).toThrow(
    expect.objectContaining({ code: 'node_malformed', retryable: true }),
  )
  expect(roots.rootOf('fulu', WHOLE)).toEqual(ROOT)
})

test('more votes than a list has room for are malformed', () => {
  const start = offsetOf('validators')
  const votes = new Uint8Array(72 * 2048)
  const bytes = Buffer.concat([WHOLE.subarray(0, start), votes, WHOLE.subarray(start)])
  for (const name of STATE_LAYOUTS.get('fulu')?.variable.slice(2) ?? [])
    bytes.writeUInt32LE(offsetOf(name) + votes.length, AT.get(name) as number)
  expect(() => new StateRoots().rootOf('fulu', bytes)).toThrow(/eth1DataVotes has more than 2048 entries/)
})

test.each(['phase0', 'gloas', 'nonsense'])('states of %s are refused by name', (fork) => {
  expect(() => new StateRoots().rootOf(fork, WHOLE)).toThrow(expect.objectContaining({ code: 'usage' }))
})
