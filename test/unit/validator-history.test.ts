import { expect, test } from 'vitest'
import type { AccountValidator } from '../../api/validators/account-validators.ts'
import { toHistory } from '../../api/validators/history.ts'
import type { ValidatorStatus } from '../../schemas/events/beacon-epoch.ts'

const CLOCK = { genesisTimeSec: 1_700_000_000, secondsPerSlot: 12, slotsPerEpoch: 32 }
const HORIZON = { clock: CLOCK, epoch: 1_000 }
const EXITING_EPOCH = 100
const FIRST_SLOT = EXITING_EPOCH * 32
const secOf = (slot: number) => CLOCK.genesisTimeSec + slot * 12

const LEFT = {
  pubkey: `0x${'ab'.repeat(48)}`,
  registered: { activation_epoch: '10', exit_epoch: '105', withdrawable_epoch: '361' },
  created: { createdAtSec: secOf(50), createdAtSlot: 50 },
} as AccountValidator

function steps(exit: { readonly requestedSec: number; readonly submittedSec: number } | undefined) {
  const firstEpochs = new Map<ValidatorStatus, number>([
    ['pending_initialized', 5],
    ['pending_queued', 6],
    ['active_exiting', EXITING_EPOCH],
  ])
  const registry = { firstEpochs, slashedSlot: undefined, sweptSlot: 361 * 32 + 7 }
  const asked = exit === undefined ? undefined : { ...exit, cancelledSec: undefined }
  return toHistory(LEFT, HORIZON, { registry, exit: asked, broadcasts: [], expiryEpochs: 1_575 })
}

test.each([
  ['a second of the slot', secOf(FIRST_SLOT + 9) + 5, FIRST_SLOT + 9],
  ['the first second of the epoch', secOf(FIRST_SLOT), FIRST_SLOT],
  ['the last second of the epoch', secOf(FIRST_SLOT + 32) - 1, FIRST_SLOT + 31],
  ['the epoch before', secOf(FIRST_SLOT) - 1, FIRST_SLOT],
  ['an epoch after it, so that it left otherwise', secOf(FIRST_SLOT + 40), FIRST_SLOT],
])('an exit is under way after a node has it, where that was in %s', (_, submittedSec, slot) => {
  const told = steps({ requestedSec: submittedSec - 2, submittedSec })
  const exiting = told.find(({ step }) => step === 'exiting')
  expect(exiting).toMatchObject({ slot, is_exact: false })
  const times = told.map(({ time }) => Date.parse(time))
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  const order = told.map(({ step }) => step).filter((step) => /exit_|exiting/.test(step))
  const isCause = submittedSec < secOf(FIRST_SLOT + 32)
  const asked = ['exit_requested', 'exit_submitted']
  expect(order).toEqual(isCause ? [...asked, 'exiting'] : ['exiting', ...asked])
})

test('what begins with an epoch is exact, an exit that a block within it has taken is not', () => {
  expect(steps(undefined).map(({ step, slot, is_exact: isExact }) => [step, slot, isExact])).toEqual([
    ['created', 50, true],
    ['pending_initialized', 5 * 32, true],
    ['pending_queued', 6 * 32, true],
    ['active', 10 * 32, true],
    ['exiting', FIRST_SLOT, false],
    ['exited', 105 * 32, true],
    ['withdrawable', 361 * 32, true],
    ['swept', 361 * 32 + 7, true],
  ])
})
