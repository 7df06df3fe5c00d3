/**
 * Makes the values of from … to (inclusive), several at once, and yields them in order. At most `concurrency` are being made
 * or wait for their turn, which bounds the memory; a function is asked for it whenever one has been taken. The first failure in order is thrown;
 * later ones are dropped with their values.
 */
export async function* inOrder<Value>(
  {
    from,
    to,
    concurrency,
  }: { readonly from: number; readonly to: number; readonly concurrency: number | (() => number) },
  make: (at: number) => Promise<Value>,
): AsyncGenerator<Value> {
  const ahead: Promise<Value>[] = []
  let next = from
  while (next <= to || ahead.length > 0) {
    const atOnce = typeof concurrency === 'number' ? concurrency : concurrency()
    while (next <= to && ahead.length < atOnce) {
      const made = make(next++)
      made.catch(() => {}) // thrown when its turn comes; until then it must not count as unhandled
      ahead.push(made)
    }
    yield await (ahead.shift() as Promise<Value>)
  }
}
