import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { advanceDevnet, epochsOfLeg, formatLeg } from '../../commands/devnet-advance.ts'
import { devnetDirectory } from '../../commands/devnet-directory.ts'
import { settingsOfFile } from './setting-of-file.ts'

const settings = settingsOfFile()

const LEG = { fromSlot: 13_597, slot: 13_830, targetSlot: 79_133 }

it('counts the slots of time-lapse from where it began', () => {
  const leg = { ...LEG, targetSlot: LEG.fromSlot + 1_600 }
  const ofKnown = (slotsPerSecond: number) => formatLeg(leg, { slotsPerSecond, mayEndBefore: false })
  expect(ofKnown(170.4)).toBe('devnet: 233 of 1600 slots (14 %), slot 13830, 170 slots/s, 9 s left')
  expect(ofKnown(0)).toBe('devnet: 233 of 1600 slots (14 %), slot 13830, 0 slots/s')
})

it('tells no share and no remaining time of a maximum that it may end before', () => {
  expect(formatLeg(LEG, { slotsPerSecond: 17.1, mayEndBefore: true })).toBe(
    'devnet: 233 slots, at most 65536, slot 13830, 17 slots/s',
  )
})

it('tells the whole epochs of a line, as far as whoever asks heard of them when the devnet is gone', () => {
  const leg = { ...LEG, targetSlot: LEG.fromSlot + 90 * 32 } // 233 slots on, in the eighth epoch
  for (const mayEndBefore of [false, true])
    expect(epochsOfLeg(formatLeg(leg, { slotsPerSecond: 170.4, mayEndBefore }), 90)).toBe(7)
  expect(epochsOfLeg('90 epochs in 12.0 s: slot 16477', 90)).toBeUndefined()
})

it('a command whose devnet is gone in the middle of its answer says how far it was at least', async () => {
  const served = createServer((socket) => {
    socket.on('data', () =>
      socket.end(`${JSON.stringify({ line: 'devnet: 1510 of 2880 slots (52 %), slot 1, 9 slots/s' })}\n`),
    )
  })
  const setting = settings()
  const folder = join(devnetDirectory(setting.config.dataDirectory), 'control')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  served.listen(join(folder, 'socket'))
  await once(served, 'listening')
  await expect(advanceDevnet(setting, { epochs: '90' })).rejects.toMatchObject({
    code: 'node_unreachable',
    message:
      'The devnet was stopped when it had been led through at least 47 of 90 epochs: start it, and ask for the rest.',
  })
  expect(setting.printed()).toContain('1510 of 2880')
  served.close()
})
