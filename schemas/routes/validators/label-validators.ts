import { Type } from 'typebox'
import { LABEL_MAX, LABEL_PATTERN, LABELLED_MAX } from '../../validator-label.ts'
import { envelopeOf } from '../envelope.ts'
import { defineRoute, NoParameters } from '../route.ts'

export const labelValidatorsRoute = defineRoute({
  id: 'labelValidators',
  scope: 'create',
  method: 'POST',
  paths: ['/api/v1/validator/labels'],
  summary: 'Label validators',
  description:
    'Gives validators that the account has or watches names of its own: all of the list, or nothing where one of the public keys is ' +
    'none of them. The newest label counts, an empty one takes it away. Only the account is shown them, within seconds: as `label` in ' +
    'the state of its validators, and in GraphQL.',
  query: NoParameters,
  body: Type.Object(
    {
      labels: Type.Array(
        Type.Object(
          {
            pubkey: Type.String({
              pattern: '^(0[xX])?[0-9a-fA-F]{96}$',
              description: '48 bytes, hex in any case, with or without 0x.',
            }),
            label: Type.String({
              pattern: LABEL_PATTERN,
              description: `At most ${LABEL_MAX} printable characters; empty takes the label away.`,
            }),
          },
          { additionalProperties: false },
        ),
        { minItems: 1, maxItems: LABELLED_MAX, description: 'A label for each validator.' },
      ),
    },
    { additionalProperties: false },
  ),
  response: envelopeOf(
    Type.Object(
      { labelled: Type.Integer({ minimum: 1, description: 'How many validators were labelled.' }) },
      { additionalProperties: false },
    ),
  ),
  refusals: ['400'],
  example: { code: '200', msg: 'Success', data: { labelled: 2 } },
})
