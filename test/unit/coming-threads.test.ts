import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('threads of beacon sources begin while others end, and the process lives', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'coming-threads.ts')], { stdio: 'inherit' })
  expect(await once(child, 'exit')).toEqual([0, null])
})
