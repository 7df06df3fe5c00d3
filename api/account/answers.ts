import { MAIL_ADDRESS_PATTERN } from '../../schemas/mail-address.ts'
import type { OrderState } from '../../schemas/orders.ts'
import { RESULTS, type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { OTHER_REQUEST } from '../../schemas/routes/idempotency-key.ts'

/** Where something was done and there is nothing to tell. */
export const DONE = { status: 'answered', envelope: { code: '200', msg: RESULTS['200'].text } } as const

const ADDRESS = new RegExp(MAIL_ADDRESS_PATTERN)

/** Undefined for a text that is a mail address. */
export function emailRefusal(email: string): Refusal | undefined {
  return ADDRESS.test(email) ? undefined : refuse('400', 'email is not a mail address, e.g. ann@example.org')
}

export function codeNotValid(): Refusal {
  return refuse('400', 'the code was never sent to this address, was used, or is too old', 'code_not_valid')
}

/** Of a sign-up: which of them it is tells nobody. */
export function codeOrPasswordNotValid(): Refusal {
  const why = 'the code was never sent to this address, was used, is too old, or is of a sign-up with another password'
  return refuse('400', why, 'code_not_valid')
}

export function wrongPassword(): Refusal {
  return refuse('401', 'no account has this address and password', 'wrong_password')
}

export function notLoggedIn(): Refusal {
  return refuse('401', 'nobody is logged in here', 'not_logged_in')
}

export function noSuchOrder(): Refusal {
  return refuse('404', 'the account has no such order', 'no_such_order')
}

export function otherRequest(): Refusal {
  return refuse('400', OTHER_REQUEST, 'other_request')
}

export function wrongState(state: OrderState): Refusal {
  return refuse('400', `the order is ${state}`, 'wrong_state')
}

export function noSuchKey(): Refusal {
  return refuse('404', 'the account has no such key', 'no_such_key')
}
