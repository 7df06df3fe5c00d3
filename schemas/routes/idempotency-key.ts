import { Type } from 'typebox'

/** Of what a client names a request by: printable ASCII, as HTTP headers are. */
export const IDEMPOTENCY_KEY_PATTERN = '^[\\x21-\\x7e]{1,255}$'

/** Said of a key that named a request with another body. */
export const OTHER_REQUEST = 'Idempotency-Key was used for another request'

/** The header as the document tells it; `of` is within what a name is one request’s alone. */
export function idempotencyHeaders(of: string) {
  return Type.Object({
    'Idempotency-Key': Type.Optional(
      Type.String({
        description: `Names the request, per ${of}: 1 to 255 printable ASCII characters without blanks.`,
      }),
    ),
  })
}
