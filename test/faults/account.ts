import type { EventLog } from '../../infra/ports/event-log.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { ACCOUNTS_KEY, feeRateSet, hashToken, tokenCreated, validatorsTracked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { TRACKED } from './history.ts'

const ACCOUNT = 'acme'
const TIME = '2026-01-01T00:00:00.000Z'

/** An account that tracks the same validators on every chain, in a log that has its identity. */
export async function appendAccount(eventLog: EventLog, chains: readonly string[]): Promise<void> {
  await openLogFacts(eventLog, 0, new AbortController().signal)
  const shared = { key: ACCOUNTS_KEY, time: TIME }
  const tokenHash = hashToken('faults')
  await eventLog.append('accounts', [
    encodeEvent(tokenCreated, {
      ...shared,
      id: `account.token-created:${tokenHash}`,
      data: { account: ACCOUNT, tokenHash, name: '', scopes: ['read'] },
    }),
    encodeEvent(feeRateSet, {
      ...shared,
      id: `account.fee-rate-set:${ACCOUNT}:${TIME}`,
      data: { account: ACCOUNT, rate: '0.1', effectiveFrom: TIME },
    }),
    ...chains.map((chain) =>
      encodeEvent(validatorsTracked, {
        ...shared,
        id: `account.validators-tracked:${chain}:${ACCOUNT}:${TRACKED[0]}:${TRACKED.length}`,
        data: { chain, account: ACCOUNT, pubkeys: TRACKED },
      }),
    ),
  ])
}
