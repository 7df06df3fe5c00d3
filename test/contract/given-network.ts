import { afterAll, beforeAll } from 'vitest'
import { type ApiFixture, insertRows, openApiFixture } from './api-fixture.ts'

// 19 November is slots 7,184 to 14,383: it begins within epoch 224 and ends within epoch 449. Epochs 225 to 449 begin in it.
export const [FIRST_EPOCH, LAST_EPOCH] = [225, 449]

/** A fixture of the file's own, of whose network epochs are told. */
export function networkOfFile() {
  let fixture: ApiFixture
  let asked = 0
  beforeAll(async () => {
    fixture = await openApiFixture()
  })
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]()
  })
  return {
    fixture: () => fixture,
    // biome-ignore lint/suspicious/noExplicitAny: results are compared as a whole.
    ask: async (question: string): Promise<any> => {
      // Rows are written here as no event writes them, which answers that are kept do not notice.
      const query = question.replace('{', `{ question${asked++}: newestEpoch `)
      const response = await fetch(`${fixture.base}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
      const { data, errors } = (await response.json()) as { data?: unknown; errors?: readonly { message: string }[] }
      if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join('; '))
      return data
    },
    /** Tells how epochs came about, by an event of this version. */
    proofs: async (epochs: readonly number[], version: number, more: object = {}): Promise<void> => {
      const row = { level: 'anchored', has_proposers: 1, is_compared: 1, version, ...more }
      await insertRows(
        fixture.warehouse,
        'epoch_proofs',
        epochs.map((epoch) => ({ epoch, ...row })),
      )
    },
  }
}

export const epochsFrom = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i)
