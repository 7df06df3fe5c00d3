import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Held, HeldOpen } from '../../api/gateway/held-open.ts'
import type { Keys } from '../../api/gateway/keys.ts'
import type { AccountStanding } from '../../api/http/standings.ts'
import { silentLog } from './silent-log.ts'

const HELD: Held = { tokenHash: 'hash', chain: 'mainnet', end() {}, leave() {} }
const STANDING: Pick<AccountStanding, 'tokenOf'> = { tokenOf: () => ({ account: 'acme', scopes: ['read'] }) }

/** Looks end when the test says. */
function given() {
  const looks: PromiseWithResolvers<AccountStanding>[] = []
  const look = (): Promise<AccountStanding> => {
    const one = Promise.withResolvers<AccountStanding>()
    looks.push(one)
    return one.promise
  }
  const said: string[] = []
  const log = { ...silentLog, error: (_what: object, text: string) => void said.push(text) }
  const parts = { accountsKnown: async () => true, wallNow: () => 0, log }
  const held = new HeldOpen({ look } as unknown as Keys, parts)
  const endLook = (): void => looks.at(-1)?.resolve(STANDING as AccountStanding)
  return { held, looks, endLook, said }
}

test('what is held and let go while a look is under way makes no looks beside it', async () => {
  const { held, looks, endLook } = given()
  const letGo = held.hold(HELD)
  await expect.poll(() => looks.length).toBe(1)
  letGo()
  for (let i = 0; i < 50; i++) held.hold(HELD)()
  const last = held.hold(HELD)
  // Longer than until the next look, which does not begin before this one has ended.
  await wait(300)
  expect(looks).toHaveLength(1)
  endLook()
  await expect.poll(() => looks.length).toBe(2)
  last()
  endLook()
  await wait(300)
  expect(looks).toHaveLength(2)
})

test('looks follow one another, one at a time, while something is held', async () => {
  const { held, looks, endLook } = given()
  const letGo = held.hold(HELD)
  for (let count = 1; count <= 3; count++) {
    await expect.poll(() => looks.length).toBe(count)
    endLook()
  }
  letGo()
})

test('that keys are not known is said once, until they are', async () => {
  const { held, looks, endLook, said } = given()
  const letGo = held.hold(HELD)
  const endsLook = async (count: number, end: () => void): Promise<void> => {
    await expect.poll(() => looks.length).toBe(count)
    end()
  }
  const failLook = (): void => looks.at(-1)?.reject(new Error('away'))
  for (const [at, end] of [failLook, failLook, failLook, endLook, failLook].entries()) await endsLook(at + 1, end)
  await expect.poll(() => looks.length).toBe(6)
  expect(said).toEqual(Array(2).fill('the keys of open connections are not known'))
  letGo()
})
