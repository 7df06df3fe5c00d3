/**
 * Makes the values of from … to (inclusive), several at once, and yields them in order. At most `concurrency` are being made
 * or wait for their turn, which bounds the memory. The first failure in order is thrown; later ones are dropped with their values.
 */
export async function* inOrder<Value>(
  range: { readonly from: number; readonly to: number; readonly concurrency: number },
  make: (at: number) => Promise<Value>,
): AsyncGenerator<Value> {
  const ahead: Promise<Value>[] = []
  let next = range.from
  while (next <= range.to || ahead.length > 0) {
    while (next <= range.to && ahead.length < range.concurrency) {
      const made = make(next++)
      made.catch(() => {}) // thrown when its turn comes; until then it must not count as unhandled
      ahead.push(made)
    }
    yield await (ahead.shift() as Promise<Value>)
  }
}
