import { expect, test } from 'vitest'
import type { Custody } from '../../commands/validators/duty.ts'
import { watchingVault } from '../../commands/validators/watching-vault.ts'
import { AppError } from '../../schemas/errors.ts'
import { silentLog } from './silent-log.ts'

const LOST = `0x${'aa'.repeat(48)}`

test('a vault whose process dies with the first question is asked again, and the role goes on', async () => {
  const stop = new AbortController()
  let asked = 0
  const watched: (readonly string[] | undefined)[] = []
  const custody = {
    vault: {
      lacking: async () => {
        if (asked++ === 0) throw new AppError('key_vault', 'its process has ended', { retryable: true })
        return [LOST]
      },
      check: async () => stop.abort(),
      state: () => ({ state: 'answering', sinceMs: 0 }),
    },
    book: { created: { pubkeys: () => [LOST] }, moved: { imported: () => [] } },
    running: {
      log: silentLog,
      vault: { watch: (look: (() => { missing: readonly string[] }) | undefined) => watched.push(look?.().missing) },
    },
    lease: { append: async () => [], lost: new AbortController().signal },
  } as unknown as Custody
  await watchingVault(custody, stop.signal)
  expect(asked).toBe(2)
  expect(watched).toEqual([[LOST], undefined])
})
