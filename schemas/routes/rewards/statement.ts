import { Type } from 'typebox'
import { envelopeOf } from '../envelope.ts'
import { defineRoute } from '../route.ts'

/** Where the key that statements are signed with is served, for whoever was shown one. */
export const STATEMENT_KEY_PATH = '/statement-key.pem'

export const statement = defineRoute({
  id: 'getStatement',
  method: 'GET',
  paths: ['/api/v1/validator/statement'],
  summary: 'Signed statement of a month',
  description:
    'Everything that the account has earned in a month of UTC+8 days, as text that the instance has signed: `statement` is canonical JSON ' +
    '(RFC 8785), `signature` the Ed25519 signature (RFC 8032) of its bytes, by the key at ' +
    `\`${STATEMENT_KEY_PATH}\`. It has \`account\`, \`protocol\`, \`network\` and \`month\`; \`as_of\`: the final epoch that it reaches to, and which ` +
    'log it is of (`log`, equal for statements of one log); `completeness` as of daily rewards; `days`: the daily rewards with the ' +
    'validators that are in them and those that are not, and the sum of the versions of their rows; `sum_el_reward`, `sum_cl_reward`, ' +
    '`sum_total_reward`; `settlements`: the settled rewards, oldest first, with the version of each row; `sum_reward`, ' +
    '`sum_service_fee`. The same tables make the same text. Of a month that is not over it tells what is final.',
  query: Type.Object({
    month: Type.String({
      pattern: '^\\d{4}-(0[1-9]|1[0-2])$',
      'x-error-code': '4001',
      description: 'Month of UTC+8 days, `YYYY-MM`, not after today.',
      examples: ['2023-07'],
    }),
  }),
  response: envelopeOf(
    Type.Object(
      {
        statement: Type.String({ description: 'Canonical JSON: these characters, in UTF-8, are signed.' }),
        signature: Type.String({ pattern: '^[A-Za-z0-9+/]{86}==$', description: '64 bytes, base64.' }),
        key_id: Type.String({
          pattern: '^[0-9a-f]{16}$',
          description: 'Beginning of SHA-256 of the public key as it is served, in DER.',
        }),
      },
      { additionalProperties: false },
    ),
  ),
  refusals: ['400', '4001', '4002'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      statement: '{"account":"acme","as_of":{"epoch":214000,"log":"5d41402abc4b2a76"},"month":"2023-07"}',
      signature: `${'A'.repeat(86)}==`,
      key_id: '21fe31dfa154a261',
    },
  },
})
