import { beforeAll, expect, test } from 'vitest'
import { createWebhook, listWebhooks, revokeWebhook } from '../../commands/admin/webhooks.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { created } from './account-facts.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

const ALLOWED = '127.0.0.1:9'
const settings = settingsOfFile()
const never = new AbortController().signal
let setting: TestSetting

beforeAll(async () => {
  setting = settings({ WEBHOOK_ALLOWED_SERVER: ALLOWED })
  await using eventLog = await openEventLog(setting.config, setting.log)
  await eventLog.append('accounts', [created('demo'), created('other')])
})

async function newWebhook(account: string, url: string) {
  await createWebhook(setting, { account, url })
  const [id = '', secret = ''] = setting.printed().trim().split('\n')
  return { id, secret }
}

test('neither the secret nor the whole address is in the log or in the list', async () => {
  const { id, secret } = await newWebhook('demo', `http://${ALLOWED}/hook/token-of-the-receiver`)
  await listWebhooks(setting, undefined)
  const listed = setting.printed()
  await using eventLog = await openEventLog(setting.config, setting.log)
  expect(listed).toContain(`${id}  demo  http://${ALLOWED}  kinds validator.status,validator.exit,day.closed`)
  const text: string[] = [listed]
  for (const topic of ['accounts', 'webhooks'] as const)
    for await (const { event } of eventLog.read({ topic, signal: never })) text.push(Buffer.from(event.data).toString())
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  for (const secretText of [secret, secret.slice(6), key.toString('hex'), 'token-of-the-receiver'])
    expect(text.join('\n')).not.toContain(secretText)
})

test.each([
  ['an address within', 'https://10.0.0.1/'],
  ['the metadata of a cloud', 'https://169.254.169.254/'],
  ['an address in another spelling', 'https://0x7f.1/'],
  ['no https', 'http://hooks.example/'],
  ['another port of the allowed server', 'http://127.0.0.1:1/'],
  ['a user', 'https://user:secret@hooks.example/'],
  ['no URL', 'hooks.example'],
  ['another scheme', 'file:///etc/passwd'],
])('%s is no webhook', async (_, url) => {
  const sentence = await refusal(createWebhook(setting, { account: 'demo', url }))
  expect(sentence).toMatch(/^--url is not an https address of a public server, .*: no webhook was created\.$/)
  expect(sentence).not.toContain(url)
})

test('unknown accounts, kinds and ids, and an eleventh webhook, are refused', async () => {
  const url = 'https://hooks.example/'
  expect(await refusal(createWebhook(setting, { account: 'nobody', url }))).toMatch(/^There is no account nobody/)
  expect(await refusal(createWebhook(setting, { account: 'demo', url, kind: ['day.close'] }))).toMatch(
    /"day\.close" is none of them: no webhook was created\. Did you mean day\.closed\?$/,
  )
  expect(await refusal(revokeWebhook(setting, `wh_${'0'.repeat(32)}`))).toMatch(/^There is no webhook with this id/)
  for (let n = 0; n < 10; n++) await newWebhook('other', url)
  expect(await refusal(createWebhook(setting, { account: 'other', url }))).toMatch(/^other has 10 webhooks/)
})
