import { expect, test } from 'vitest'
import { clocksOf } from '../../commands/role.ts'
import type { DevnetProcess } from '../../infra/devnet/child.ts'
import { isLate } from '../../processors/validators/clocks.ts'

const DAYS_SEC = 5 * 86_400
const NOW_MS = Date.UTC(2026, 10, 22)

test('a devnet that was led ahead moves the clock of the chains, and not that by which requests wait', () => {
  const led = clocksOf({ devnet: { aheadSec: DAYS_SEC } as DevnetProcess })
  const before = Date.now()
  const [now, wallNow] = [led.now(), led.wallNow()]
  expect(wallNow).toBeGreaterThanOrEqual(before)
  expect(wallNow).toBeLessThanOrEqual(Date.now())
  expect(now - wallNow).toBeGreaterThan(1_000 * DAYS_SEC - 1_000)
  const other = clocksOf({ devnet: undefined })
  expect(other.now() - other.wallNow()).toBeLessThan(1_000)
})

test.each([
  ['in time', 20_000, false],
  ['at the last moment', 0, false],
  ['asked on a machine whose clock is half a minute ahead', 50_000, false],
  ['too late', -1, true],
  ['with a limit of a clock that was led days ahead, as earlier releases wrote it', 1_000 * DAYS_SEC, true],
])('what is taken up %s', (_, waitsMs, late) => {
  expect(isLate({ wallNow: () => NOW_MS }, NOW_MS + waitsMs)).toBe(late)
})
