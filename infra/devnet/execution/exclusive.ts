/** Runs pieces of work one after another, in the order of the calls; a failure stays with its own caller. */
export function createExclusive(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    // The next in line waits for the end, whatever it was; the failure is `result`'s.
    last = result.catch(() => undefined)
    return result
  }
}
