/** An answer other than 200: `{ code, message }` with that HTTP status, as the Beacon API specifies. */
export class BeaconApiError extends Error {
  readonly statusCode: number

  constructor(statusCode: 400 | 404 | 415 | 503, message: string) {
    super(message)
    this.name = 'BeaconApiError'
    this.statusCode = statusCode
  }
}
