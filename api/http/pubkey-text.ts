/** A public key as tables and events have it, of one that was given in any case, with or without 0x. */
export function normalisePubkey(text: string): string {
  const lower = text.toLowerCase()
  return lower.startsWith('0x') ? lower : `0x${lower}`
}
