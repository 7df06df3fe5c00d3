import { expect, test } from 'vitest'
import { countPassed } from '../../infra/upstreams/passed-bytes.ts'

const MB = 1_000_000
const READ_BYTES = 64 * 1024

test('what has passed of a long answer does not pile up in memory', () => {
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  for (let passed = 0; passed < 300 * MB; passed += READ_BYTES) {
    // As a read of a socket: a buffer that nobody keeps.
    countPassed(Buffer.allocUnsafeSlow(READ_BYTES).length)
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }
  expect(most).toBeLessThan(32 * MB)
})
