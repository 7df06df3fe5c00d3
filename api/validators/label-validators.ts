import { randomUUID } from 'node:crypto'
import { labelValidators } from '../../schemas/jobs/label-validators.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { labelValidatorsRoute } from '../../schemas/routes/validators/label-validators.ts'
import { action } from '../http/action.ts'
import { askJob } from '../http/ask-job.ts'
import { answer } from '../http/operation.ts'
import { seenValidators } from '../http/seen-validators.ts'

/** So long a request waits for its labels to be told the log. */
const LABEL_MS_MAX = 10_000
const NOT_LABELLED = 'validators cannot be labelled at the moment; the request can be repeated'

export const labelValidatorsOperation = action(labelValidatorsRoute, async ({ body }, scope) => {
  const { chain, account } = scope
  const labels = body.labels.map(({ pubkey, label }) => ({
    pubkey: `0x${pubkey.toLowerCase().replace(/^0x/, '')}`,
    label,
  }))
  const byKey = new Map(labels.map(({ pubkey, label }) => [pubkey, label]))
  const twice = labels.find(({ pubkey, label }) => byKey.get(pubkey) !== label)
  if (twice !== undefined) return refuse('400', `labels has two labels for ${twice.pubkey}`)
  const { registered, unregistered } = await seenValidators(scope)
  const seen = new Set([...registered, ...unregistered].map(({ pubkey }) => pubkey))
  const input = {
    requestId: randomUUID(),
    chain,
    account,
    labels: [...byKey].map(([pubkey, label]) => ({ pubkey, label, isSeen: seen.has(pubkey) })),
  }
  const output = await askJob(scope, labelValidators, { input, timeoutMs: LABEL_MS_MAX })
  if (output === undefined || output.status === 'late') return refuse('503', NOT_LABELLED)
  if (output.status === 'foreign') return refuse('400', `${output.pubkey} is no validator of the account`)
  return answer({ labelled: byKey.size })
})
