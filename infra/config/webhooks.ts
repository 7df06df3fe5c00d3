import { join } from 'node:path'
import { given } from './environment.ts'
import { AllowedServer, type FileSettings, WebhooksKey } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { WebhookConfig } from './types.ts'
import { readKeySource } from './vault.ts'

/** What webhooks are signed with, and the one server that they may reach although it is not public. */
export function readWebhooks(reader: SettingReader, { webhooks }: FileSettings, dataDirectory: string): WebhookConfig {
  const place = { path: ['webhooks', 'key'], variable: 'WEBHOOK_KEY', rule: WebhooksKey, inFile: webhooks?.key }
  const keySource = readKeySource(reader, { ...place, beside: join(dataDirectory, 'webhook.key') })
  const variable = 'WEBHOOK_ALLOWED_SERVER'
  const allowedServer = reader.variable(AllowedServer, variable) ?? webhooks?.allowed_server
  if (allowedServer === undefined) return { keySource }
  const origin = given(reader.env, variable) === undefined ? 'file' : variable
  reader.show(['webhooks', 'allowed_server'], allowedServer, origin)
  return { keySource, allowedServer }
}
