import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Keys } from '../../api/gateway/keys.ts'
import { Looks } from '../../api/http/looks.ts'
import { type AccountStanding, type KnownToken, STANDING_AGE_MS_MAX } from '../../api/http/standings.ts'

// A key that is revoked, where nobody in this process hears of writes: what the tables have is as old as the last look.

const REVOKED_MS_MAX = 1_000
const KNOWN: KnownToken = { account: 'acme', scopes: ['read'] }

test.each([0, 250, 490, 750])(
  'a revoked key works no longer than a second, also where it calls %i ms after it was revoked and then once more',
  async (ms) => {
    let isThere = true
    const looks = new Looks<AccountStanding>({
      look: async () => {
        const known = isThere ? KNOWN : undefined
        return { tokenOf: () => known }
      },
      writes: () => undefined,
      ageMsMax: STANDING_AGE_MS_MAX,
    })
    const keys = new Keys({ accounts: () => looks.of('') })
    const isLetIn = async () => (await keys.get()).tokenOf('hash') !== undefined
    expect(await isLetIn()).toBe(true)
    isThere = false
    const revokedMs = performance.now()
    await wait(ms)
    await isLetIn()
    while (performance.now() - revokedMs < REVOKED_MS_MAX)
      await wait(REVOKED_MS_MAX + 10 - (performance.now() - revokedMs))
    expect(await isLetIn()).toBe(false)
  },
)
