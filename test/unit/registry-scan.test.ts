import { ssz } from '@lodestar/types'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ListMemory } from '../../infra/beacon/list-memory.ts'
import { RegistryScan } from '../../infra/beacon/registry-scan.ts'
import { VALIDATOR_BYTES } from '../../infra/beacon/state-layout.ts'
import { UNSET_EPOCH } from '../../schemas/eth/transition/state-columns.ts'
import { giveBack } from '../../schemas/memory.ts'
import { tries } from '../long-form.ts'

type Validator = ReturnType<typeof ssz.phase0.Validator.defaultValue>

/** Keys that differ in a byte that the table does not look at, and in those that it does. */
function keyOf(number: number): Uint8Array {
  const key = new Uint8Array(48).fill(7)
  key[20] = number & 3
  key[number % 2 === 0 ? 0 : 47] = number >> 2
  return key
}

const epoch = fc.oneof(fc.integer({ min: 0, max: UNSET_EPOCH - 1 }), fc.constant(Number.POSITIVE_INFINITY))
const validator = fc.record({
  pubkey: fc.integer({ min: 0, max: 400 }).map(keyOf),
  withdrawalCredentials: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  effectiveBalance: fc.integer({ min: 0, max: 2048 }).map((increments) => increments * 1e9),
  slashed: fc.boolean(),
  activationEligibilityEpoch: epoch,
  activationEpoch: epoch,
  exitEpoch: epoch,
  withdrawableEpoch: epoch,
})
const step = fc.record({
  length: fc.integer({ min: 0, max: 60 }),
  changed: fc.array(fc.tuple(fc.integer({ min: 0, max: 59 }), validator), { maxLength: 8 }),
  behind: fc.array(validator, { maxLength: 60 }),
  pieceBytes: fc.integer({ min: 1, max: 3_000 }),
  areMarksRead: fc.boolean(),
  areColumnsGivenBack: fc.boolean(),
})

const inColumn = (value: number) => (value === Number.POSITIVE_INFINITY ? UNSET_EPOCH : value)

test('a registry that is written over others is read as if it were the only one', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 2, maxLength: 6 }), (steps) => {
      const memory = new ListMemory(VALIDATOR_BYTES)
      const scan = new RegistryScan()
      let registry: readonly Validator[] = []
      for (const { length, changed, behind, pieceBytes, areMarksRead, areColumnsGivenBack } of steps) {
        registry = uniqueOf([...registry, ...behind].slice(0, length), changed)
        const bytes = Buffer.concat(registry.map((one) => ssz.phase0.Validator.serialize(one)))
        memory.begin(bytes.length, false)
        for (let at = 0; at < bytes.length; at += pieceBytes) memory.write(at, bytes.subarray(at, at + pieceBytes))
        const columns = scan.read(memory.bytes, memory.marks)
        expect(Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, [...column]]))).toEqual({
          effectiveIncrements: registry.map((one) => one.effectiveBalance / 1e9),
          slashed: registry.map((one) => Number(one.slashed)),
          eligibilityEpochs: registry.map((one) => inColumn(one.activationEligibilityEpoch)),
          activationEpochs: registry.map((one) => inColumn(one.activationEpoch)),
          exitEpochs: registry.map((one) => inColumn(one.exitEpoch)),
          withdrawableEpochs: registry.map((one) => inColumn(one.withdrawableEpoch)),
          credentialPrefixes: registry.map((one) => one.withdrawalCredentials[0]),
        })
        for (let number = 0; number <= 400; number++) {
          const key = keyOf(number)
          const index = registry.findIndex((one) => Buffer.compare(one.pubkey, key) === 0)
          expect(scan.indexOf(key), `key ${number}`).toBe(index === -1 ? undefined : index)
          if (index !== -1) expect(scan.credentialsOf(index)).toEqual(registry[index]?.withdrawalCredentials)
        }
        if (areMarksRead) memory.marks.fill(0)
        if (areColumnsGivenBack) giveBack(Object.values(columns))
      }
    }),
    { numRuns: tries(40, 2_000) },
  )
})

/** With some of the records changed, and no key twice. */
function uniqueOf(
  records: readonly Validator[],
  changed: readonly (readonly [number, Validator])[],
): readonly Validator[] {
  const all = [...records]
  for (const [index, record] of changed) if (index < all.length) all[index] = record
  return [...new Map(all.map((record) => [Buffer.from(record.pubkey).toString('hex'), record])).values()]
}

test('a registry of thousands that come at once finds each of them, and of another one nobody', () => {
  const scan = new RegistryScan()
  const records = (from: number, to: number) =>
    Buffer.concat(
      Array.from({ length: to - from }, (_, i) => {
        const pubkey = new Uint8Array(48)
        new DataView(pubkey.buffer).setUint32(2, from + i) // the words that are looked at are all but alike
        return ssz.phase0.Validator.serialize({ ...ssz.phase0.Validator.defaultValue(), pubkey })
      }),
    )
  const keyAt = (registry: Buffer, index: number) =>
    registry.subarray(index * VALIDATOR_BYTES, index * VALIDATOR_BYTES + 48)
  const registry = records(0, 3_000)
  scan.read(registry.subarray(0, 100 * VALIDATOR_BYTES), new Uint8Array(3_000))
  scan.read(registry, new Uint8Array(3_000))
  for (let index = 0; index < 3_000; index++) expect(scan.indexOf(keyAt(registry, index))).toBe(index)
  const other = records(3_000, 6_000)
  scan.read(other)
  for (let index = 0; index < 3_000; index++) expect(scan.indexOf(keyAt(registry, index))).toBeUndefined()
  expect(scan.indexOf(keyAt(other, 2_999))).toBe(2_999)
})
