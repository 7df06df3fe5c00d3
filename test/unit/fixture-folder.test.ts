import { expect, test } from 'vitest'
import { fixtureFolderOf } from '../fixture-folder.ts'

test('tests without fixtures are skipped, except in CI, where they fail', () => {
  expect(fixtureFolderOf({})).toBeUndefined()
  for (const CI of [undefined, 'true']) expect(fixtureFolderOf({ CI, EPOCHLINE_FIXTURES: '/there' })).toBe('/there')
  for (const EPOCHLINE_FIXTURES of [undefined, ''])
    expect(() => fixtureFolderOf({ CI: 'true', EPOCHLINE_FIXTURES })).toThrow(/^EPOCHLINE_FIXTURES is not set/)
})
