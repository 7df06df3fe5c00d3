import { type Static, Type } from 'typebox'
import { EXIT_FAILURES } from '../exit-reasons.ts'
import { WEBHOOK_ID_PATTERN, WEBHOOK_KINDS } from '../webhooks.ts'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent, olderJson } from './codec.ts'
import { Bytes, Chain, Day, IntegerText, Pubkey, UInt } from './fields.ts'

/** Validators of one event about many, and notices of one about what became of them: 120 kB. */
export const WEBHOOK_ITEMS_MAX = 1_000

const Account = Type.String({ pattern: ACCOUNT_PATTERN })
const WebhookId = Type.String({ pattern: WEBHOOK_ID_PATTERN })
const Kinds = Type.Array(Type.Enum([...WEBHOOK_KINDS]), { minItems: 1, uniqueItems: true })
/** A status as `POST …/validator/details` tells it; later releases may know more of them. */
const Status = Type.String({ pattern: '^[a-z_]{1,40}$' })
const NoticeId = Type.String({ minLength: 1, maxLength: 300 })

const WebhookCreated = Type.Object({
  webhookId: WebhookId,
  account: Account,
  kinds: Kinds,
  /** Scheme, host and port: what operators tell it by. */
  origin: Type.String({ minLength: 1, maxLength: 300 }),
  /** The whole address, sealed: its path may hold a secret of the receiver's. */
  sealedUrl: Bytes,
})
export type WebhookCreated = Static<typeof WebhookCreated>

/**
 * An account wants to be told of what happens to its validators. The key of the signatures is in no event: it follows from the id and
 * the key of the configuration (decision 33). Key: `ACCOUNTS_KEY`; id `account.webhook-created:<webhook id>`.
 */
export const webhookCreated = jsonEvent(
  { name: 'account.webhook-created', version: 1, topic: 'accounts' },
  WebhookCreated,
)

/** It is told nothing any more, for good; key `ACCOUNTS_KEY`, id `account.webhook-revoked:<webhook id>`. */
export const webhookRevoked = jsonEvent(
  { name: 'account.webhook-revoked', version: 1, topic: 'accounts' },
  Type.Object({ webhookId: WebhookId }),
)

const ClosedSpan = Type.Object({ from: Day, through: Day })
/** Days one behind the other that are closed, the last one included: `YYYY-MM-DD`. */
export type ClosedSpan = Static<typeof ClosedSpan>

const FollowedFields = {
  account: Account,
  chain: Chain,
  /** Newest final epoch of the tables; null before the first. */
  epoch: Type.Union([UInt, Type.Null()]),
  /** Offset in `accounts` behind what has been. */
  accountsNext: IntegerText,
  statuses: Type.Array(Type.Object({ pubkey: Pubkey, status: Status }), { maxItems: WEBHOOK_ITEMS_MAX }),
  /** Of the events of one look, from 0: each has other validators. */
  number: UInt,
  isLast: Type.Boolean(),
}
const WebhookFollowed = Type.Object({
  ...FollowedFields,
  /** The chain's days that are closed, ascending. */
  closed: Type.Array(ClosedSpan),
})
/** Of what version 1 said nothing: which days up to the newest closed one (null for none) were not closed. They count as closed. */
const FollowedBefore = Type.Object({ ...FollowedFields, closedThrough: Type.Union([Day, Type.Null()]) })
const EPOCH_DAY = '1970-01-01'
export type WebhookFollowed = Static<typeof WebhookFollowed>

const StatusNotice = Type.Object({
  kind: Type.Literal('validator.status'),
  pubkey: Pubkey,
  /** How manieth of the validator, from 1. */
  number: UInt,
  /** Null of a validator that the account did not have. */
  previous: Type.Union([Status, Type.Null()]),
  status: Status,
  /** Final epoch at whose end it was seen first; null of a status before the registry's. */
  epoch: Type.Union([UInt, Type.Null()]),
})
/** Steps of an exit: those of `exit_steps`. */
export const EXIT_NOTICE_STEPS = ['requested', 'cancelled', 'signed', 'submitted', 'on_chain', 'failed'] as const
const ExitNotice = Type.Object({
  kind: Type.Literal('validator.exit'),
  pubkey: Pubkey,
  step: Type.Enum([...EXIT_NOTICE_STEPS]),
  /** Of `failed`. */
  reason: Type.Optional(Type.Enum([...EXIT_FAILURES])),
  /** Of `on_chain`: the validator's last epoch is the one before. */
  exitEpoch: Type.Optional(UInt),
  /** Of the event in `accounts` that it tells of. */
  offset: IntegerText,
})
const DayNotice = Type.Object({ kind: Type.Literal('day.closed'), day: Day })

const WebhookNoticed = Type.Object({
  account: Account,
  chain: Chain,
  what: Type.Union([StatusNotice, ExitNotice, DayNotice]),
})
export type WebhookNoticed = Static<typeof WebhookNoticed>
export type Noticed = WebhookNoticed['what']

const OfWebhook = { account: Account, webhookId: WebhookId }
const WebhookBegan = Type.Object({ ...OfWebhook, kinds: Kinds })
const WebhookDelivered = Type.Object({ ...OfWebhook, notice: NoticeId })
export const GIVEN_UP_REASON_CHARACTERS_MAX = 300
const WebhookGivenUp = Type.Object({
  ...OfWebhook,
  notices: Type.Array(NoticeId, { minItems: 1, maxItems: WEBHOOK_ITEMS_MAX }),
  reason: Type.String({ maxLength: GIVEN_UP_REASON_CHARACTERS_MAX }),
})

/** A fact of the topic `webhooks`; all have their account as key, so that those of one account are read in their order. */
const fact = <Name extends string>(name: Name, version = 1) => ({ name, version, topic: 'webhooks' }) as const

/**
 * What holds of an account's validators on a chain is known, and told to nobody: changes from here on are. Id
 * `webhook.followed:<account>:<chain>:<accountsNext>:<number of the event>`.
 */
export const webhookFollowed = jsonEvent(fact('webhook.followed', 2), WebhookFollowed, {
  1: olderJson(FollowedBefore, ({ closedThrough, ...fields }) => ({
    ...fields,
    closed: closedThrough === null ? [] : [{ from: EPOCH_DAY, through: closedThrough }],
  })),
})

/** What the account notices from here on, this webhook is told; id `webhook.began:<webhook id>`. */
export const webhookBegan = jsonEvent(fact('webhook.began'), WebhookBegan)

/** It is told nothing any more, what waits for it neither; id `webhook.ended:<webhook id>`. */
export const webhookEnded = jsonEvent(fact('webhook.ended'), Type.Object(OfWebhook))

/**
 * Something has happened to an account's validators; its time is when that was noticed. Its id, which is made of what it tells, is that
 * of the notice: `<account>:<chain>:<accountsNext of its beginning>:` and `status:<pubkey>:<number>`, `exit:<pubkey>:<offset>` or `day:<day>`.
 */
export const webhookNoticed = jsonEvent(fact('webhook.noticed'), WebhookNoticed)

/** The receiver has taken it; id `webhook.delivered:<webhook id>:<notice>`. */
export const webhookDelivered = jsonEvent(fact('webhook.delivered'), WebhookDelivered)

/** The receiver has not, or nothing could be signed, for too long, and it is not told any more; id `webhook.given-up:<webhook id>:<first notice>`. */
export const webhookGivenUp = jsonEvent(fact('webhook.given-up'), WebhookGivenUp)
