import { expect, test } from 'vitest'
import { LiveSetting } from '../../commands/live-setting.ts'

test('whoever listens to a setting is told when it says something else, until the signal aborts', () => {
  const setting = new LiveSetting<readonly number[]>([1])
  const stop = new AbortController()
  const seen: (readonly number[])[] = []
  setting.onChange(() => seen.push(setting.current), stop.signal)
  setting.replace([1])
  setting.replace([2])
  stop.abort()
  setting.replace([3])
  expect(seen).toEqual([[2]])
  expect(setting.current).toEqual([3])
})
