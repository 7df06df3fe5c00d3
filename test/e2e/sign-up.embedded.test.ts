import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Browser } from '../contract/given-accounts.ts'
import { type Environment, type Running, runCommand, startProgram } from './processes.ts'

const PASSWORD = 'correct horse battery'
const NO_NODE = 'http://127.0.0.1:9'
/** A key works within a second of its creation; the machine may be busy. */
const WORKS_WITHIN_MS = 3_000
/** Some are answered before the kill, others wait. */
const SIGN_UPS = 12

describe('people sign up with a program that is killed', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-sign-up-'))
  const data = join(directory, 'data')
  const env: Environment = { EPOCHLINE_DATA: data, BEACON_URL: NO_NODE, EXECUTION_URL: NO_NODE, LOG_LEVEL: 'debug' }
  let program: Running
  /** By programs that were killed. */
  let printed = ''

  beforeAll(async () => {
    program = await startProgram(['all'], env)
  })
  afterAll(async () => {
    await program?.kill()
    rmSync(directory, { recursive: true, force: true })
  })

  function codeTo(email: string): string {
    const letters = readdirSync(join(data, 'mail'))
      .filter((name) => name.endsWith('.eml'))
      .sort()
      .map((name) => readFileSync(join(data, 'mail', name), 'utf8'))
    const letter = letters.filter((text) => text.startsWith(`To: ${email}\n`)).at(-1) ?? ''
    return /^[A-Za-z0-9_-]{43}$/m.exec(letter)?.[0] ?? ''
  }

  async function restart(): Promise<Browser> {
    await program.kill()
    printed += program.output()
    program = await startProgram(['all'], env)
    return new Browser(program.url)
  }

  async function opened(browser: Browser, email: string): Promise<void> {
    expect((await browser.post('/verify', { email, code: codeTo(email), password: PASSWORD })).status, email).toBe(200)
    const { status } = await browser.post('/log-in', { email, password: PASSWORD })
    expect(status, email).toBe(200)
  }

  it('who was answered has an account when it runs again, and who was not may sign up', async () => {
    const emails = Array.from({ length: SIGN_UPS }, (_, i) => `person-${i}@example.org`)
    const asked = emails.map(async (email) => {
      const { status } = await new Browser(program.url).post('/sign-up', { email, password: PASSWORD })
      expect(status).toBe(200)
      return email
    })
    const settled = Promise.allSettled(asked)
    await asked[0]
    await program.kill()
    const answered = (await settled).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const unanswered = emails.filter((email) => !answered.includes(email))
    expect(answered.length).toBeGreaterThan(0)
    expect(unanswered.length).toBeGreaterThan(0)
    const browser = await restart()
    await opened(browser, answered[0] as string)
    const again = unanswered.at(-1) as string
    expect((await browser.post('/sign-up', { email: again, password: PASSWORD })).status).toBe(200)
    await opened(browser, again)
  })

  it('a key works at once, outlives a kill, and stops at once', async () => {
    const email = 'person-with-key@example.org'
    const browser = await restart()
    await browser.post('/sign-up', { email, password: PASSWORD })
    await opened(browser, email)
    const made = (await browser.post('/keys', { name: 'k', blockchain: 'ethereum/mainnet' })).body.data
    const statusOf = async (url: string): Promise<number> =>
      (await fetch(`${url}/ethereum/mainnet/${made.key}/api/v1/validator/total-rewards`)).status
    expect(await statusOf(program.url)).not.toBe(401)
    const after = await restart()
    after.cookie = browser.cookie
    expect((await after.get('/keys')).body.data).toMatchObject([{ key_id: made.key_id, name: 'k' }])
    expect(await statusOf(program.url)).not.toBe(401)
    expect((await after.ask('DELETE', `/keys/${made.key_id}`)).status).toBe(200)
    const deletedMs = performance.now()
    while ((await statusOf(program.url)) !== 401) {
      expect(performance.now() - deletedMs).toBeLessThan(WORKS_WITHIN_MS)
      await wait(50)
    }
  })

  it('an operator finds the account of an address, and no file but the mail has one', async () => {
    const found = await runCommand(['admin', 'account', 'find'], env, 'person-with-key@example.org\n')
    expect(found.stdout, found.stderr).toMatch(/^u-[0-9a-f]{16}\n$/)
    expect(await program.stop()).toBe(0)
    const files = readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('mail'))
      .map(({ parentPath, name }) => join(parentPath, name))
    expect(files.some((file) => file.endsWith('event-log.sqlite'))).toBe(true)
    const written = files.filter((file) => /person-|correct horse/.test(readFileSync(file, 'latin1')))
    expect(written).toEqual([])
    printed += program.output()
    expect(printed).toContain('"route":"/account/v1/log-in"')
    expect(printed).not.toMatch(/person-|correct horse/)
  })
})
