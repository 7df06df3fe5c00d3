import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RegisteredValidator } from '../../infra/ports/exit-node.ts'
import {
  decideExit,
  type ExitTries,
  type ExitView,
  INVALID_LOOKS_MAX,
  RESUBMIT_EPOCHS,
} from '../../processors/validators/exit/decide-exit.ts'
import type { ExitSigned } from '../../schemas/events/exits.ts'

const PERIOD = 256
const ACTIVE: RegisteredValidator = { index: 7, activationEpoch: 100, exitEpoch: undefined }
const PENDING: RegisteredValidator = { ...ACTIVE, activationEpoch: undefined }
const EXITING: RegisteredValidator = { ...ACTIVE, exitEpoch: 400 }
const UNTRIED: ExitTries = { last: undefined, invalid: 0 }
const SIGNED: ExitSigned = {
  chain: 'mainnet',
  pubkey: `0x${'ab'.repeat(48)}`,
  validatorIndex: 7,
  epoch: 356,
  signature: `0x${'cd'.repeat(96)}`,
  headEpoch: 356,
}
const view = (seen: Partial<ExitView>): ExitView => ({
  epoch: 356,
  head: ACTIVE,
  final: ACTIVE,
  shardCommitteePeriodEpochs: PERIOD,
  tries: UNTRIED,
  ...seen,
})
const tried = (epoch: number, isAccepted: boolean): ExitTries => ({ last: { epoch, isAccepted }, invalid: 0 })

describe('an exit that is not signed', () => {
  test.each<[string, Partial<ExitView>, object]>([
    ['waits for the registry', { head: undefined, final: undefined }, { kind: 'wait', why: 'not_active' }],
    ['waits for activation', { head: PENDING, final: PENDING }, { kind: 'wait', why: 'not_active' }],
    ['waits for what it signs to be final', { final: PENDING }, { kind: 'wait', why: 'not_active' }],
    ['waits for its epoch', { epoch: 355 }, { kind: 'wait', why: 'short_time_active' }],
    ['is signed at its epoch', {}, { kind: 'sign', message: { epoch: 356, validatorIndex: 7 } }],
    ['is signed so later too', { epoch: 9_999 }, { kind: 'sign', message: { epoch: 356, validatorIndex: 7 } }],
    ['is not signed where the head shows another', { head: EXITING }, { kind: 'wait', why: 'exiting' }],
    ['ends where another is final', { final: EXITING }, { kind: 'end', end: { status: 'on_chain', exitEpoch: 400 } }],
  ])('%s', (_, seen, expected) => {
    expect(decideExit({ signed: undefined }, view(seen))).toEqual(expected)
  })
})

describe('an exit that is signed', () => {
  const INVALID: ExitTries = { last: { epoch: 355, isAccepted: false }, invalid: INVALID_LOOKS_MAX }
  test.each<[string, Partial<ExitView>, object]>([
    ['is submitted', {}, { kind: 'submit' }],
    ['rests in the pool', { tries: tried(355, true) }, { kind: 'wait', why: 'in_pool' }],
    ['is submitted again', { tries: tried(356 - RESUBMIT_EPOCHS, true) }, { kind: 'submit' }],
    ['is tried again in the next epoch', { tries: tried(355, false) }, { kind: 'submit' }],
    ['is tried once in an epoch', { tries: tried(356, false) }, { kind: 'wait', why: 'in_pool' }],
    ['waits for finality', { head: EXITING }, { kind: 'wait', why: 'exiting' }],
    ['is submitted again after a reorg', { tries: tried(300, true) }, { kind: 'submit' }],
    ['ends on chain', { final: EXITING }, { kind: 'end', end: { status: 'on_chain', exitEpoch: 400 } }],
    ['fails for another index', { final: { ...ACTIVE, index: 8 } }, failed('another_validator')],
    ['fails where all nodes know its signature for wrong', { tries: INVALID }, failed('invalid_signature')],
    [
      'is on chain whatever was said of its signature',
      { final: EXITING, tries: INVALID },
      { kind: 'end', end: { status: 'on_chain', exitEpoch: 400 } },
    ],
  ])('%s', (_, seen, expected) => {
    expect(decideExit({ signed: SIGNED }, view(seen))).toEqual(expected)
  })
})

function failed(reason: string) {
  return { kind: 'end', end: { status: 'failed', reason } }
}

const epochs = fc.integer({ min: 0, max: 10_000 })
const registered = fc.option(
  fc.record({
    index: fc.integer({ min: 0, max: 3 }),
    activationEpoch: fc.option(epochs, { nil: undefined }),
    exitEpoch: fc.option(epochs, { nil: undefined }),
  }),
  { nil: undefined },
)
const anyTries = fc.record({
  last: fc.option(fc.record({ epoch: epochs, isAccepted: fc.boolean() }), { nil: undefined }),
  invalid: fc.integer({ min: 0, max: 5 }),
})
const anyView = fc.record({
  epoch: epochs,
  head: registered,
  final: registered,
  shardCommitteePeriodEpochs: fc.constantFrom(32, 256),
  tries: anyTries,
})
const anySigned = fc.option(fc.constant(SIGNED), { nil: undefined })

describe('whatever is seen', () => {
  test('nothing is signed twice, in the future, or of what is not final', () => {
    fc.assert(
      fc.property(anySigned, anyView, (signed, seen) => {
        const action = decideExit({ signed }, seen)
        if (action.kind !== 'sign') return
        expect(signed).toBeUndefined()
        expect(action.message.validatorIndex).toBe(seen.final?.index)
        expect(action.message.epoch).toBe((seen.final?.activationEpoch ?? Number.NaN) + seen.shardCommitteePeriodEpochs)
        expect(action.message.epoch).toBeLessThanOrEqual(seen.epoch)
        expect([seen.head?.exitEpoch, seen.final?.exitEpoch]).toEqual([undefined, undefined])
      }),
      { numRuns: 5_000 },
    )
  })

  test('the same validator signs the same at every epoch and after any tries', () => {
    fc.assert(
      fc.property(anyView, epochs, anyTries, (seen, epoch, tries) => {
        const [one, other] = [
          decideExit({ signed: undefined }, seen),
          decideExit({ signed: undefined }, { ...seen, epoch, tries }),
        ]
        if (one.kind === 'sign' && other.kind === 'sign') expect(other.message).toEqual(one.message)
      }),
      { numRuns: 5_000 },
    )
  })

  test('it ends on chain exactly where a final exit epoch is seen, with that epoch', () => {
    fc.assert(
      fc.property(anySigned, anyView, (signed, seen) => {
        const action = decideExit({ signed }, seen)
        const isOnChain = action.kind === 'end' && action.end.status === 'on_chain'
        expect(isOnChain).toBe(seen.final?.exitEpoch !== undefined)
        if (action.kind === 'end' && action.end.status === 'on_chain')
          expect(action.end.exitEpoch).toBe(seen.final?.exitEpoch)
      }),
      { numRuns: 5_000 },
    )
  })

  test('only what is signed is submitted, and what no exit stands against is submitted within a few epochs', () => {
    fc.assert(
      fc.property(anySigned, anyView, (signed, seen) => {
        const action = decideExit({ signed }, seen)
        if (action.kind === 'submit') expect(signed).toBeDefined()
        if (signed === undefined || action.kind !== 'wait' || action.why !== 'in_pool') return
        const later = { ...seen, epoch: (seen.tries.last?.epoch ?? 0) + RESUBMIT_EPOCHS }
        expect(decideExit({ signed }, later)).toEqual({ kind: 'submit' })
      }),
      { numRuns: 5_000 },
    )
  })
})
