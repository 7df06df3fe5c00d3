import { Type } from 'typebox'
import { DoneEnvelope } from '../envelope.ts'
import { DONE_EXAMPLE, defineAccountRoute, Email, GivenPassword, MailedCode, NewPassword } from './account-route.ts'

export const signUpRoute = defineAccountRoute({
  id: 'signUp',
  method: 'POST',
  path: '/sign-up',
  summary: 'Sign up with a mail address and a password',
  description:
    'Sends a code to the address, which `POST /verify` wants within 24 hours, with the same password; before, nobody can log in. The answer is the same where the ' +
    'address has an account: the mail says so.',
  ofSession: false,
  body: Type.Object({ email: Email, password: NewPassword }, { additionalProperties: false }),
  response: DoneEnvelope,
  refusals: ['400', '429'],
  example: DONE_EXAMPLE,
})

export const verifyRoute = defineAccountRoute({
  id: 'verifyEmail',
  method: 'POST',
  path: '/verify',
  summary: 'Open the account that was signed up for',
  description:
    'Of several sign-ups of one address the one whose code is used counts, and its password is to be given: nobody opens an account with the ' +
    'password of somebody else who signed up with the address. `400` with the reason `code_not_valid`: the code was never sent to the ' +
    'address, was used, is too old, or is of a sign-up with another password.',
  ofSession: false,
  body: Type.Object({ email: Email, code: MailedCode, password: GivenPassword }, { additionalProperties: false }),
  response: DoneEnvelope,
  refusals: ['400', '429'],
  example: DONE_EXAMPLE,
})
