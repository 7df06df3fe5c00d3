import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from './processes.ts'

const USAGE = 2

let directory: string
let taken: Server

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'operator-'))
  // Holds a port, and is a web server that is no node.
  taken = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>'))
  taken.listen(0, '127.0.0.1')
  await once(taken, 'listening')
})

afterAll(() => {
  taken.close()
  rmSync(directory, { recursive: true })
})

const takenPort = () => String((taken.address() as AddressInfo).port)
const fresh = () => ({
  EPOCHLINE_DATA: mkdtempSync(join(directory, 'data-')),
  PORT: '0',
  DEVNET_BEACON_PORT: '0',
  DEVNET_EXECUTION_PORT: '0',
  LOG_LEVEL: 'silent',
})

/** Ends by itself with the exit code for wrong use, and with one line that matches. */
async function refuses(args: readonly string[], env: Record<string, string>, sentence: RegExp, input = '') {
  const { code, stderr } = await runCommand(args, { ...fresh(), ...env }, input)
  const lines = stderr.split('\n').filter((line) => line !== '' && !/^(devnet|blocks|epochs|process) /.test(line))
  expect({ lines, code }).toEqual({ lines: [expect.stringMatching(sentence)], code: USAGE })
}

describe('the program ends with one sentence, and leaves nothing running,', () => {
  it.each(['PORT', 'DEVNET_BEACON_PORT', 'DEVNET_EXECUTION_PORT'])('when the port of %s is taken', async (name) => {
    await refuses(['all'], { [name]: takenPort() }, new RegExp(name))
  })

  it('when its data folder cannot be one', async () => {
    const file = join(directory, 'file')
    writeFileSync(file, '')
    await refuses(['all'], { EPOCHLINE_DATA: join(file, 'data') }, /EPOCHLINE_DATA .*e\.g\. EPOCHLINE_DATA=/)
  })

  it('when HOST is no address of this machine', async () => {
    const node = { BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' }
    await refuses(['api'], { ...node, HOST: '192.0.2.1' }, /HOST .*e\.g\. HOST=127\.0\.0\.1/)
  })

  it('when no beacon node answers, without its address', async () => {
    const env = { BEACON_URL: 'http://user:secret@127.0.0.1:9/key', EXECUTION_URL: 'http://127.0.0.1:9/key' }
    await refuses(['all'], env, /^(?!.*(secret|key)).*BEACON_URL .*ECONNREFUSED/)
  })

  it('when the beacon node is some web server', async () => {
    const url = `http://127.0.0.1:${takenPort()}`
    await refuses(['all'], { BEACON_URL: url, EXECUTION_URL: url }, /BEACON_URL .*not whole JSON/)
  })
})

describe('a command', () => {
  it.each<[string, string[]]>([
    ['an unknown name', ['foo']],
    ['an unknown option', ['verify', '--loud']],
    ['a missing option', ['backfill', '--from', 'epoch:1']],
  ])('with %s is refused', (_, args) => refuses(args, {}, /^error: /))

  it('that revokes a token which never was says so', () =>
    refuses(['admin', 'token', 'revoke'], {}, /nothing was revoked/, 'nope'))

  it('that tracks a key which is none tracks nothing', () =>
    refuses(['admin', 'validators', 'track', '--account', 'acme'], {}, /nothing was tracked/, '0x12'))

  it('verifies a log without events', async () => {
    const { code, stdout } = await runCommand(['verify'], fresh())
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^0 days, 0 validator-days, 0 wrong/) })
  })
})
