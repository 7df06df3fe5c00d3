import { expect, test } from 'vitest'
import { readMigrations } from '../../infra/warehouse/migrate.ts'

test('migrations have numbers one after the other, each its own', async () => {
  const numbers = (await readMigrations()).map(({ name }) => Number(name.slice(0, 4)))
  expect(numbers).toEqual(numbers.map((_, i) => i + 1))
})
