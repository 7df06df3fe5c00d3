import { Type } from 'typebox'
import { DoneEnvelope } from '../envelope.ts'
import {
  DONE_EXAMPLE,
  defineAccountRoute,
  Email,
  GivenPassword,
  MailedCode,
  NewPassword,
  SESSION_COOKIE,
} from './account-route.ts'

export const logInRoute = defineAccountRoute({
  id: 'logIn',
  method: 'POST',
  path: '/log-in',
  summary: 'Log in',
  description:
    `Sets the cookie \`${SESSION_COOKIE}\`, which counts for 14 days, and for 24 hours since it was last used. \`401\` with the reason ` +
    '`wrong_password` is answered to a wrong password, an unknown address and one that was not verified alike.',
  ofSession: false,
  body: Type.Object({ email: Email, password: GivenPassword }, { additionalProperties: false }),
  response: DoneEnvelope,
  refusals: ['400', '401', '429'],
  example: DONE_EXAMPLE,
})

export const logOutRoute = defineAccountRoute({
  id: 'logOut',
  method: 'POST',
  path: '/log-out',
  summary: 'Log out here',
  description: 'Ends the session of the cookie; others of the account go on.',
  ofSession: true,
  response: DoneEnvelope,
  refusals: ['400', '401', '429'],
  example: DONE_EXAMPLE,
})

export const requestResetRoute = defineAccountRoute({
  id: 'requestPasswordReset',
  method: 'POST',
  path: '/request-reset',
  summary: 'Ask for a new password',
  description:
    'Sends a code to the address, which counts for an hour. The answer is the same where it has no account: the mail says so.',
  ofSession: false,
  body: Type.Object({ email: Email }, { additionalProperties: false }),
  response: DoneEnvelope,
  refusals: ['400', '429'],
  example: DONE_EXAMPLE,
})

export const resetRoute = defineAccountRoute({
  id: 'resetPassword',
  method: 'POST',
  path: '/reset',
  summary: 'Set a new password',
  description:
    'Ends every session of the account; its keys go on working. `400` with the reason `code_not_valid`: the code was never sent to this ' +
    'address, was used, or is too old.',
  ofSession: false,
  body: Type.Object({ email: Email, code: MailedCode, password: NewPassword }, { additionalProperties: false }),
  response: DoneEnvelope,
  refusals: ['400', '429'],
  example: DONE_EXAMPLE,
})
