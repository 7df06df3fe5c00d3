import { describe, expect, test } from 'vitest'
import { readMigrations } from '../../infra/warehouse/migrate.ts'
import { hasSeveralStatements, splitStatements } from '../../infra/warehouse/statements.ts'

describe('the statements of a text', () => {
  test('end with a semicolon at the end of a line', () => {
    const text = "-- first; not a statement;\nCREATE TABLE a (x UInt8); \n\nINSERT INTO a SELECT ';';\n-- end\n"
    expect(splitStatements(text)).toEqual(['CREATE TABLE a (x UInt8)', "INSERT INTO a SELECT ';'"])
  })

  test.each([
    ['SELECT 1', false],
    ['SELECT 1;', false],
    ['SELECT 1; -- done; really', false],
    ['SELECT \';\', "a;b", `c;d` /* ; */', false],
    ["SELECT 'it''s; fine', 'it\\'s; fine'", false],
    ['SELECT 1; SELECT 2', true],
    ["SELECT 'a'; DROP TABLE b", true],
  ])('%s: several statements is %s', (text, several) => {
    expect(hasSeveralStatements(text)).toBe(several)
  })

  test('are one per call in every migration of the program', async () => {
    for (const { name, text } of await readMigrations()) {
      for (const statement of splitStatements(text)) expect(hasSeveralStatements(statement), name).toBe(false)
    }
  })
})
