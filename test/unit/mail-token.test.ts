import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createToken, listTokens } from '../../commands/admin/tokens.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

const settings = settingsOfFile()
const mailTo = 'ann@example.org'

async function listed(setting: TestSetting): Promise<string> {
  setting.printed()
  await listTokens(setting, undefined)
  return setting.printed()
}

test('a token is sent to its customer, and not printed', async () => {
  const setting = settings()
  await createToken(setting, { account: 'acme', new: true, mailTo })
  const printed = setting.printed()
  const folder = join(setting.config.dataDirectory, 'mail')
  const letters = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  expect(letters).toHaveLength(1)
  expect(letters[0]).toContain(`To: ${mailTo}\n`)
  const token = /^[\w-]{32}$/m.exec(letters[0] ?? '')?.[0] ?? ''
  expect(printed).toBe('The token was created and sent.\n')
  expect(await listed(setting)).toContain(hashToken(token).slice(0, 12))
})

test('a token that cannot be sent is printed: nobody else knows it', async () => {
  const setting = settings()
  writeFileSync(join(setting.config.dataDirectory, 'mail'), 'no folder')
  const failed = createToken(setting, { account: 'acme', new: true, mailTo })
  await expect(failed).rejects.toMatchObject({ code: 'mail', retryable: true })
  const token = setting.printed().trim()
  expect(token).toMatch(/^[\w-]{32}$/)
  expect(await listed(setting)).toContain(hashToken(token).slice(0, 12))
})

test('no token is made for what is no address, nor where nobody can be written to', async () => {
  const setting = settings()
  for (const wrong of ['ann', 'ann@example.org, bob@example.org'])
    expect(await refusal(createToken(setting, { account: 'acme', new: true, mailTo: wrong }))).toMatch(
      /^--mail-to is not a mail address/,
    )
  const silent = { ...setting, config: { ...setting.config, mail: undefined } }
  expect(await refusal(createToken(silent, { account: 'acme', new: true, mailTo }))).toMatch(/^No mail is configured/)
  expect(await listed(setting)).toBe('There are no tokens.\n')
})
