import { type Static, type TSchema, Type } from 'typebox'
import { NextCursor } from './fields.ts'

/** Result codes of the envelope with their texts (service specification, section 7) and the HTTP status beside each. */
export const RESULTS = {
  '200': { text: 'Success', httpStatus: 200 },
  '400': { text: 'Param error', httpStatus: 400 },
  '401': { text: 'Authentication failed', httpStatus: 401 },
  '403': { text: 'Forbidden', httpStatus: 403 },
  '404': { text: 'Path Not Found', httpStatus: 404 },
  '429': { text: 'Too Many Requests', httpStatus: 429 },
  '500': { text: 'Server error', httpStatus: 500 },
  '503': { text: 'Service not ready', httpStatus: 503 },
  '4001': { text: 'Date format is incorrect', httpStatus: 400 },
  '4002': { text: 'Date can not be greater than today', httpStatus: 400 },
  '4003': { text: 'Only support nearly 30 reward data', httpStatus: 400 },
} as const

export type ResultCode = keyof typeof RESULTS
export type RefusalCode = Exclude<ResultCode, '200'>

export const Pagination = Type.Object(
  {
    page: Type.Integer({ minimum: 1 }),
    limit: Type.Integer({ minimum: 1 }),
    total: Type.Integer({ minimum: 0, description: 'Items on all pages together.' }),
  },
  { additionalProperties: false },
)
export type Pagination = Static<typeof Pagination>

/** An expected refusal: answered as it is, never thrown. `detail` names the parameter and holds no secret. */
export interface Refusal {
  readonly status: 'refused'
  readonly code: RefusalCode
  readonly detail?: string
  /** Tells refusals of one code apart for programs: a word in snake_case that stays. */
  readonly reason?: string
}

export function refuse(code: RefusalCode, detail?: string, reason?: string): Refusal {
  const refusal = { status: 'refused', code, ...(detail === undefined ? {} : { detail }) } as const
  return reason === undefined ? refusal : { ...refusal, reason }
}

/** `msg` starts with the text of its code and may go on with what exactly is wrong. */
export function formatMessage(code: ResultCode, detail?: string): string {
  const { text } = RESULTS[code]
  return detail === undefined ? text : `${text}: ${detail}`
}

/** Shape of a successful answer around the route's own data. */
export function envelopeOf<Data extends TSchema>(data: Data) {
  return Type.Object(
    { code: Type.Literal('200'), msg: Type.Literal(RESULTS['200'].text), data },
    { additionalProperties: false },
  )
}

/** As `envelopeOf`, for what is done and has nothing to tell. */
export const DoneEnvelope = Type.Object(
  { code: Type.Literal('200'), msg: Type.Literal(RESULTS['200'].text) },
  { additionalProperties: false },
)

/** As `envelopeOf`, for lists that come in pages. */
export function pagedEnvelopeOf<Data extends TSchema>(data: Data) {
  return Type.Object(
    { code: Type.Literal('200'), msg: Type.Literal(RESULTS['200'].text), data, pagination: Pagination },
    { additionalProperties: false },
  )
}

/** As `pagedEnvelopeOf`, for lists that also go on from where an answer has ended. */
export function listEnvelopeOf<Data extends TSchema>(data: Data) {
  return Type.Object({ ...pagedEnvelopeOf(data).properties, next_cursor: NextCursor }, { additionalProperties: false })
}

/** Shape of a refusal. */
export const ErrorEnvelope = Type.Object(
  {
    code: Type.Enum(Object.keys(RESULTS).filter((code) => code !== '200') as RefusalCode[]),
    msg: Type.String({ description: 'Starts with the text of the code and may name the parameter after a colon.' }),
    data: Type.Null(),
    reason: Type.Optional(
      Type.String({ pattern: '^[a-z_]+$', description: 'Why, as a word for programs; the operation tells its own.' }),
    ),
  },
  { additionalProperties: false },
)
export type ErrorEnvelope = Static<typeof ErrorEnvelope>
