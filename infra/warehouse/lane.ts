/** Runs tasks one after the other, in the order of the calls; a task's failure is its caller's alone. */
export function createLane(): <T>(task: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = tail.then(task)
    tail = result.catch(() => {})
    return result
  }
}
