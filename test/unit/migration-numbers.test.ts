import { expect, test } from 'vitest'
import { readMigrations } from '../../infra/warehouse/migrate.ts'

test('migrations have numbers one after the other, each its own', async () => {
  const numbers = (await readMigrations()).map(({ name }) => Number(name.slice(0, 4)))
  expect(numbers).toEqual(numbers.map((_, i) => i + 1))
})

test('migrations make tables anew that are to be filled again: by one that is emptied nobody sees that it has to be', async () => {
  // Those before it have made another table of the same groups anew, or were mended by it.
  const later = (await readMigrations()).filter(({ name }) => name >= '0048')
  expect(later.filter(({ text }) => /^\s*TRUNCATE\b/im.test(text)).map(({ name }) => name)).toEqual([])
})
