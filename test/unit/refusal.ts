import { expect } from 'vitest'

/** Why something was refused: its sentences. */
export async function refusal(doing: Promise<void>): Promise<string> {
  const [ended] = await Promise.allSettled([doing])
  if (ended.status === 'fulfilled') throw new Error('it was not refused')
  expect(ended.reason).toMatchObject({ code: 'usage' })
  return ended.reason.message
}
