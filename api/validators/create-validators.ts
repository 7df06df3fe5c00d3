import { hash } from 'node:crypto'
import { hasRightChecksum } from '../../schemas/eth/address.ts'
import { createValidators } from '../../schemas/jobs/create-validators.ts'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { type Created, createValidatorsRoute } from '../../schemas/routes/validators/create-validators.ts'
import { tooManyUnfunded } from '../../schemas/validator-lifecycle.ts'
import { type ActionScope, action } from '../http/action.ts'
import { askJob } from '../http/ask-job.ts'
import { nameRequest } from '../http/name-request.ts'
import { answer } from '../http/operation.ts'
import { countUnfunded } from './unfunded-validators.ts'

/** So long a request waits for its keys; the job makes none after that. */
const CREATE_MS_MAX = 20_000
const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

export const createValidatorsOperation = action(createValidatorsRoute, async ({ body, headers }, scope) => {
  const { chain, account } = scope
  const addresses = readAddresses(body)
  if ('status' in addresses) return addresses
  const named = nameRequest(headers, chain)
  if (named.status === 'refused') return named
  // Whether a request with a key was answered before only the one who does it knows, who counts as well.
  if (!named.isRepeatable) {
    const tooMany = await refusalOf(body.validator_count, scope)
    if (tooMany !== undefined) return refuse('400', tooMany)
  }
  const asked = { count: body.validator_count, ...addresses }
  const input = {
    chain,
    account,
    requestId: named.id,
    bodyHash: hash('sha256', JSON.stringify([chain, asked]), 'hex'),
    ...asked,
  }
  const output = await askJob(scope, createValidators, { input, timeoutMs: CREATE_MS_MAX })
  if (output === undefined) return refuse('503', NOT_MADE)
  switch (output.status) {
    case 'refused':
      return refuse('400', output.reason)
    case 'unavailable':
      return refuse('503', NOT_MADE)
    case 'created':
      return answer(JSON.parse(output.answer) as Created)
  }
})

/** Why no more validators may be created as the tables stand; undefined where they may. */
async function refusalOf(count: number, scope: ActionScope): Promise<string | undefined> {
  const { standing, account, unfundedRules } = scope
  // Of all validators that it has no more can wait than there are, and their number is known without asking.
  if (tooManyUnfunded(standing.validatorsOf(account), count, unfundedRules) === undefined) return undefined
  return tooManyUnfunded(await countUnfunded(scope), count, unfundedRules)
}

const NOT_MADE =
  'validators cannot be created at the moment; with an Idempotency-Key the request can be repeated safely'

interface Addresses {
  readonly withdrawalAddress: string
  readonly depositFrom: string
  readonly feeRecipient: string
}

interface AskedAddresses {
  readonly withdrawal_address: string
  readonly deposit_from_address?: string
  readonly fee_recipient_address?: string
}

/** Lower-case, with what is not given filled in; refused where stake or rewards would go where nobody meant them to go. */
function readAddresses(body: AskedAddresses): Addresses | Refusal {
  const { withdrawal_address: withdrawal } = body
  const given = {
    withdrawal_address: withdrawal,
    deposit_from_address: body.deposit_from_address ?? withdrawal,
    fee_recipient_address: body.fee_recipient_address ?? withdrawal,
  }
  for (const [name, address] of Object.entries(given)) {
    const digits = `0x${address.slice(2)}`
    if (!hasRightChecksum(digits)) return refuse('400', `${name} does not have the checksum of its letters (EIP-55)`)
    if (digits === ZERO_ADDRESS) return refuse('400', `${name} is the zero address`)
  }
  const stored = (address: string) => `0x${address.slice(2).toLowerCase()}`
  return {
    withdrawalAddress: stored(given.withdrawal_address),
    depositFrom: stored(given.deposit_from_address),
    feeRecipient: stored(given.fee_recipient_address),
  }
}
