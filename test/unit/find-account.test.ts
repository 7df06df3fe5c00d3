import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { AccountSecrets } from '../../api/account/secrets.ts'
import { findAccount } from '../../commands/admin/find-account.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { userStands } from '../../schemas/events/users.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile } from './setting-of-file.ts'

const settings = settingsOfFile()
const input = (text: string) => Readable.from([Buffer.from(text)])

test('an account is found by its address, with the key that it was made with', async () => {
  const setting = settings()
  expect(await refusal(findAccount(setting, input('ann@example.org')))).toBe('Nobody has signed up here yet.')
  const key = randomBytes(32)
  const secrets = new AccountSecrets(key)
  const password = { scheme: 'scrypt-1-1-1', proof: '0'.repeat(64) }
  const user = { account: 'u-1', password, sinceSec: 0, resets: [], sessions: [], keys: [], deletedKeys: [] }
  const data = { address: secrets.addressOf('ann@example.org'), keyId: secrets.keyId, signUps: [], user }
  {
    await using eventLog = await openEventLog(setting.config, setting.log)
    const event = { id: 'user.stands:1', key: data.address, time: '2026-01-01T00:00:00.000Z', data }
    await eventLog.append('users', [encodeEvent(userStands, event)])
  }
  const file = join(setting.config.dataDirectory, 'accounts.key')
  expect(await refusal(findAccount(setting, input('ann@example.org')))).toMatch(/accounts\.key cannot be read/)
  writeFileSync(file, randomBytes(32).toString('hex'))
  expect(await refusal(findAccount(setting, input('ann@example.org')))).toMatch(/not the one that accounts were made/)
  writeFileSync(file, key.toString('hex'))
  await findAccount(setting, input('Ann@Example.org\n'))
  expect(setting.printed()).toBe('u-1\n')
  expect(await refusal(findAccount(setting, input('bob@example.org')))).toMatch(/^No account has this address/)
  expect(await refusal(findAccount(setting, input('\n')))).toMatch(/^No mail address/)
})
