import { type Static, Type } from 'typebox'
import { WEBHOOK_ID_PATTERN } from '../webhooks.ts'
import { job } from './job.ts'

const DeliverWebhookInput = Type.Object({ webhookId: Type.String({ pattern: WEBHOOK_ID_PATTERN }) })
export type DeliverWebhookInput = Static<typeof DeliverWebhookInput>

/** Tells a receiver what waits for it: one run at a time for each, so that none holds up another. */
export const deliverWebhook = job('deliver-webhook', DeliverWebhookInput, ({ webhookId }) => webhookId)
