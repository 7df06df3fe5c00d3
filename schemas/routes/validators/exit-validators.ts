import { Type } from 'typebox'
import { EXITED_MAX } from '../../events/exits.ts'
import { EXIT_FAULTS } from '../../exit-reasons.ts'
import { DoneEnvelope } from '../envelope.ts'
import { defineRoute, NoParameters } from '../route.ts'

const Body = Type.Object(
  {
    pubkeys: Type.Array(
      Type.String({
        pattern: '^(0[xX])?[0-9a-fA-F]{96}$',
        description: '48 bytes, hex in any case, with or without 0x.',
      }),
      {
        minItems: 1,
        maxItems: EXITED_MAX,
        description: 'The validators, never all by default; repeated ones count once.',
      },
    ),
  },
  // An exit is for ever: what is not understood is not passed over.
  { additionalProperties: false },
)

const FAULTS = `\`${EXIT_FAULTS.join('`, `')}\``
const DONE = { code: '200', msg: 'Success' } as const

export const exitValidatorsRoute = defineRoute({
  id: 'exitValidators',
  scope: 'exit',
  method: 'POST',
  paths: ['/api/v1/validator/exit'],
  summary: 'Let validators exit',
  description:
    'All of the list or, where one of it cannot be, nothing. One that exits already is success. One that may not leave yet - it is not ' +
    'active, or not for long enough - is scheduled, and can be cancelled until its exit is signed. The exit is handed to every beacon ' +
    'node until it is final on chain: `is_need_exit` and `is_post_exit` of the details follow it. `reason` of a refusal is one of ' +
    `${FAULTS}.`,
  query: NoParameters,
  body: Body,
  response: DoneEnvelope,
  refusals: ['400'],
  example: DONE,
})

export const cancelExitsRoute = defineRoute({
  id: 'cancelExits',
  scope: 'exit',
  method: 'POST',
  paths: ['/api/v1/validator/exit/cancel'],
  summary: 'Take requested exits back',
  description:
    'For exits that are requested and not signed: all of the list or nothing. One that was cancelled before is success while it stays; what is ' +
    `signed cannot be taken back, nor an exit that the chain has fixed (\`already_exiting\`), by whatever way the validator leaves. \`reason\` of a refusal is one of ${FAULTS}.`,
  query: NoParameters,
  body: Body,
  response: DoneEnvelope,
  refusals: ['400'],
  example: DONE,
})
