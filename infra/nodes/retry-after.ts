/**
 * The pause that a Retry-After header asks for (RFC 9110, section 10.2.3: seconds, or an HTTP date), in ms from `nowMs`, which is
 * Unix time; 0 for what is past or cannot be read.
 */
export function retryAfterMs(header: string, nowMs: number): number {
  const text = header.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? 0 : Math.max(0, at - nowMs)
}
