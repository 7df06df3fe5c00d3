import type { Counters } from '../../infra/ports/counters.ts'

/** For what takes nothing of any limit. */
export const noCounters: Counters = {
  take: () => Promise.reject(new Error('nothing is taken')),
  giveBack: () => Promise.reject(new Error('nothing is given back')),
  async [Symbol.asyncDispose]() {},
}
