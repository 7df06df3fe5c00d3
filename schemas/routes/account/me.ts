import { Type } from 'typebox'
import { DoneEnvelope, envelopeOf } from '../envelope.ts'
import { DONE_EXAMPLE, defineAccountRoute, Email, GivenPassword } from './account-route.ts'

const PlanLimit = (description: string) => Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description })

const Me = Type.Object(
  {
    account: Type.String({ description: 'Name of the account, which its operators know it by.' }),
    created_at: Type.String({ format: 'date-time' }),
    plan: Type.Object(
      {
        name: Type.String(),
        requests_per_day: PlanLimit('In all services together, a day in UTC+8; null: as many as it likes.'),
        requests_per_second: PlanLimit('Of one key at one endpoint; null: as many as it likes.'),
      },
      { additionalProperties: false },
    ),
    keys: Type.Integer({ minimum: 0, description: 'API keys that it has.' }),
  },
  { additionalProperties: false },
)

export const meRoute = defineAccountRoute({
  id: 'getMe',
  method: 'GET',
  path: '/me',
  summary: 'Who is logged in',
  description: 'The mail address is not told: nobody keeps it.',
  ofSession: true,
  response: envelopeOf(Me),
  refusals: ['401', '429'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      account: 'u-5f2b8c1d9e3a4f60',
      created_at: '2026-11-20T04:00:00.000Z',
      plan: { name: 'default', requests_per_day: 100_000, requests_per_second: 50 },
      keys: 1,
    },
  },
})

export const closeRoute = defineAccountRoute({
  id: 'closeAccount',
  method: 'POST',
  path: '/close',
  summary: 'Close the account',
  description:
    'Deletes its keys, ends its sessions and drops what was kept of it. Address and password are asked for once more.',
  ofSession: true,
  body: Type.Object({ email: Email, password: GivenPassword }, { additionalProperties: false }),
  response: DoneEnvelope,
  refusals: ['400', '401', '429'],
  example: DONE_EXAMPLE,
})
