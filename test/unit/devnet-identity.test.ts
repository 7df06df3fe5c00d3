import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { claimIdentity, readIdentity, refuseOtherDevnet } from '../../infra/devnet/identity.ts'
import { openTimeShift } from '../../infra/devnet/time-shift.ts'

function givenFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-identity-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

it.each([
  ['is empty', ''],
  ['was cut short', '{\n  "seed": "one",\n  "sec'],
  ['holds something else', '"one"'],
])('a file that %s is named, with what to do', (_, text) => {
  const directory = givenFolder()
  const asked = { seed: 'one', secondsPerSlot: 12 }
  for (const [name, read] of [
    ['devnet.json', () => refuseOtherDevnet(directory, asked)],
    ['devnet.json', (file: string) => readIdentity(file)],
    ['devnet.json', (file: string) => claimIdentity(file, asked)],
    ['devnet-clock.json', () => openTimeShift(directory, 384)],
  ] as const) {
    const file = join(directory, name)
    writeFileSync(file, text)
    expect(() => read(file)).toThrow(
      expect.objectContaining({
        code: 'config',
        message: expect.stringMatching(new RegExp(`^${file} is not what .*empty data folder.*delete the file\\.$`)),
      }),
    )
    expect(readFileSync(file, 'utf8')).toBe(text)
  }
})

it('what is written is whole, and leaves nothing beside it', () => {
  const directory = givenFolder()
  const identity = { seed: 'one', secondsPerSlot: 12 }
  writeFileSync(join(directory, 'devnet.json.new'), '{ "se')
  claimIdentity(join(directory, 'devnet.json'), identity)
  openTimeShift(directory, 384).advance(1)
  expect(readIdentity(join(directory, 'devnet.json'))).toEqual(identity)
  expect(openTimeShift(directory, 384).aheadSec).toBe(384)
  expect(readdirSync(directory).toSorted()).toEqual(['devnet-clock.json', 'devnet.json'])
})

it('a folder of another chain is refused with the setting that makes it another, where one does', () => {
  const directory = givenFolder()
  const file = join(directory, 'devnet.json')
  const own = { seed: 'one', metadataUrl: 'http://127.0.0.1:8547', scenarioVersion: 'any-1' }
  claimIdentity(file, own)
  claimIdentity(file, own)
  const begins = "The devnet's directory holds another chain: its "
  expect(() => claimIdentity(file, { ...own, metadataUrl: 'http://127.0.0.1:18547' })).toThrow(
    `${begins}metadataUrl is http://127.0.0.1:8547, asked for by DEVNET_METADATA_PORT is http://127.0.0.1:18547. Use`,
  )
  expect(() => claimIdentity(file, { ...own, seed: 'two' })).toThrow(
    `${begins}seed is one, asked for by DEVNET_SEED is two.`,
  )
  expect(() => claimIdentity(file, { ...own, scenarioVersion: 'any-2' })).toThrow('any-1, asked for is any-2.')
})
