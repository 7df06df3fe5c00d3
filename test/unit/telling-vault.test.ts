import { expect, test } from 'vitest'
import { RENEWED_MS, VaultTelling } from '../../commands/validators/telling-vault.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { vaultStateTold } from '../../schemas/events/vault-state.ts'

const START_MS = Date.UTC(2026, 10, 22)

test('the log hears of the vault when it changes, and every minute', async () => {
  const told: EncodedEvent[] = []
  const clock = { ms: START_MS }
  const append = async (topic: string, events: readonly EncodedEvent[]) => {
    expect(topic).toBe('roles')
    told.push(...events)
    return []
  }
  const lost = Array.from({ length: 120 }, (_, i) => `0x${i.toString(16).padStart(96, '0')}`)
  const telling = new VaultTelling({ append }, lost, () => clock.ms)
  const at = async (afterMs: number, state: 'answering' | 'away', sinceMs = START_MS) => {
    clock.ms = START_MS + afterMs
    await telling.tell({ state, sinceMs, ...(state === 'away' ? { fault: 'its process has ended' } : {}) })
    return told.length
  }
  expect(await at(0, 'answering')).toBe(1)
  expect(await at(RENEWED_MS - 1, 'answering')).toBe(1)
  expect(await at(RENEWED_MS, 'answering')).toBe(2)
  expect(await at(RENEWED_MS + 5_000, 'away', START_MS + RENEWED_MS + 5_000)).toBe(3)
  expect(await at(RENEWED_MS + 10_000, 'away', START_MS + RENEWED_MS + 5_000)).toBe(3)
  await telling.tellStopped()
  const words = told.map((event) => decodeEvent(vaultStateTold, event))
  expect(words.map(({ state }) => state)).toEqual(['answering', 'answering', 'away', 'stopped'])
  expect(words.map(({ fault }) => fault)).toEqual(['', '', 'its process has ended', ''])
  expect(words[0]?.missing).toEqual({ count: 120, pubkeys: lost.slice(0, 100) })
  expect(told.map(({ time }) => time)).toEqual([
    '2026-11-22T00:00:00.000Z',
    '2026-11-22T00:01:00.000Z',
    '2026-11-22T00:01:05.000Z',
    '2026-11-22T00:01:10.000Z',
  ])
  expect(new Set(told.map(({ id }) => id)).size).toBe(4)
})
