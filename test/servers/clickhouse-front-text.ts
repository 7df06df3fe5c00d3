/** What a server finds out about a request's text before it runs it. */

/** Splits `INSERT INTO t FORMAT x` from the values behind its line; every other text is complete as it is. */
export function bodyOfInsert(body: Buffer): { text: string; values: Buffer | undefined } {
  const head = body.subarray(0, 64 * 1024).toString('latin1')
  const insert = /^\s*INSERT\s+INTO\s[^;]*?\sFORMAT\s+(?!VALUES\b)\w+[ \t]*\r?\n/i.exec(head)
  if (insert === null) return { text: body.toString(), values: undefined }
  return { text: body.subarray(0, insert[0].length).toString(), values: body.subarray(insert[0].length) }
}

const BAD_REQUEST = new Set([6, 26, 27, 36, 38, 41, 42, 43, 53, 62, 72, 69, 117, 427, 456])
const NOT_FOUND = new Set([46, 47, 50, 56, 60, 73, 81, 115])
const FORBIDDEN = new Set([192, 193, 497, 516])
const UNAVAILABLE = new Set([202, 209, 439])

/** ClickHouse's own table of exception codes and HTTP statuses. */
export function httpStatus(code: number): number {
  if (BAD_REQUEST.has(code)) return 400
  if (NOT_FOUND.has(code)) return 404
  if (FORBIDDEN.has(code)) return 403
  if (UNAVAILABLE.has(code)) return 503
  if (code === 48) return 501
  if (code === 159) return 408
  return 500
}
