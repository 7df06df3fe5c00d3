import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type KeySource, readSealingKey } from '../../infra/key-vault/key-source.ts'
import { seal, unseal } from '../../infra/key-vault/sealing.ts'

const KEY_HEX = '00112233445566778899aabbccddeeffFFEEDDCCBBAA99887766554433221100'
const KEY = Buffer.from(KEY_HEX, 'hex')

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'epochline-key-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('what is sealed', () => {
  const secret = randomBytes(32)

  test('opens with its key and context', () => {
    expect(unseal(KEY, seal(KEY, secret, 'seed a'), 'seed a')).toEqual(secret)
  })

  test('does not open with another key or as something else', () => {
    const envelope = seal(KEY, secret, 'seed a')
    expect(unseal(randomBytes(32), envelope, 'seed a')).toBeUndefined()
    expect(unseal(KEY, envelope, 'seed b')).toBeUndefined()
  })

  test('does not open with any byte changed, left out or added', () => {
    const envelope = seal(KEY, secret, 'seed a')
    for (const i of envelope.keys()) {
      const changed = envelope.map((byte, at) => (at === i ? byte ^ 1 : byte))
      expect(unseal(KEY, changed, 'seed a'), `byte ${i}`).toBeUndefined()
      expect(unseal(KEY, envelope.subarray(0, i), 'seed a'), `the first ${i} bytes`).toBeUndefined()
    }
    expect(unseal(KEY, Buffer.concat([envelope, Buffer.of(0)]), 'seed a')).toBeUndefined()
  })

  test('has a nonce of its own each time', () => {
    const envelopes = Array.from({ length: 100 }, () => Buffer.from(seal(KEY, secret, 'seed a')).toString('hex'))
    expect(new Set(envelopes.map((hex) => hex.slice(2, 26))).size).toBe(100)
  })
})

describe('the key-encryption key', () => {
  const usage = (message: RegExp) => expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) })
  const fileSource = (file: string, mayCreate = false): KeySource => ({ kind: 'file', file, mayCreate })

  test.each([KEY_HEX, `0x${KEY_HEX}`, `${KEY_HEX}\n`, `  0X${KEY_HEX.toLowerCase()}\r\n\t`])(
    'is read from a file: %j',
    (text) => {
      const file = join(newFolder(), 'key')
      writeFileSync(file, text)
      expect(readSealingKey(fileSource(file), false)).toEqual(KEY)
    },
  )

  test.each(['', '0x', KEY_HEX.slice(1), `${KEY_HEX}00`, `${KEY_HEX.slice(1)}g`, `${KEY_HEX} 1`])(
    'is refused when it is none, without being shown: %j',
    (text) => {
      const file = join(newFolder(), 'key')
      writeFileSync(file, text)
      const read = () => readSealingKey(fileSource(file), false)
      expect(read).toThrow(usage(/is 32 bytes, written as 64 hex digits; the file .* is something else\.$/))
      expect(read).not.toThrow(/00112233/i)
    },
  )

  test('is made for a new vault where that is allowed, for its owner alone', () => {
    const folder = newFolder()
    const file = join(folder, 'deeper', 'still', 'key')
    const made = readSealingKey(fileSource(file, true), true)
    expect(made).toHaveLength(32)
    expect(readSealingKey(fileSource(file, true), false)).toEqual(made)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'deeper')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(folder, 'deeper', 'still'))).toEqual(['key'])
  })

  test('is never made anew where it exists', () => {
    const file = join(newFolder(), 'key')
    writeFileSync(file, KEY_HEX)
    expect(readSealingKey(fileSource(file, true), true)).toEqual(KEY)
    expect(readFileSync(file, 'utf8')).toBe(KEY_HEX)
  })

  test('is not made where a vault is, nor where it may not be', () => {
    const file = join(newFolder(), 'key')
    expect(() => readSealingKey(fileSource(file, true), false)).toThrow(usage(/\(ENOENT\): put it back; without it/))
    expect(() => readSealingKey(fileSource(file), true)).toThrow(usage(/\(ENOENT\): write one there/))
    expect(() => statSync(file)).toThrow(/ENOENT/)
  })

  test('that cannot be written says so', () => {
    const file = join(newFolder(), 'key')
    writeFileSync(file, '')
    expect(() => readSealingKey(fileSource(join(file, 'key'), true), true)).toThrow(
      usage(/cannot be written to .* \(EEXIST\)/),
    )
  })

  test('is read from the environment', () => {
    process.env.EPOCHLINE_TEST_VAULT_KEY = KEY_HEX
    onTestFinished(() => {
      delete process.env.EPOCHLINE_TEST_VAULT_KEY
    })
    expect(readSealingKey({ kind: 'environment', variable: 'EPOCHLINE_TEST_VAULT_KEY' }, false)).toEqual(KEY)
    const missing: KeySource = { kind: 'environment', variable: 'EPOCHLINE_TEST_NO_KEY' }
    expect(() => readSealingKey(missing, true)).toThrow(
      usage(/^There is no environment variable EPOCHLINE_TEST_NO_KEY/),
    )
  })

  test('is read from what a command writes', () => {
    expect(readSealingKey({ kind: 'command', command: `printf 0x; echo ${KEY_HEX}` }, false)).toEqual(KEY)
  })

  test.each([
    ['exit code 3', `echo ${KEY_HEX}; exit 3`],
    ['exit code 127', 'epochline-no-such-command'],
    ['ENOBUFS', `while :; do echo ${KEY_HEX}; done`],
  ])('of a command that fails is refused with %s, and neither command nor output is shown', (reason, command) => {
    const read = () => readSealingKey({ kind: 'command', command }, false)
    expect(read).toThrow(usage(new RegExp(`gave none \\(${reason}\\): run it by hand`)))
    try {
      read()
    } catch (error) {
      expect(String(error)).not.toMatch(/00112233|echo|no-such/i)
      expect(error).not.toHaveProperty('cause')
    }
  })
})
