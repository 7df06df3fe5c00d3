import type { DayNumber } from '../../schemas/eth/time.ts'
import { formatDay } from '../../schemas/eth/time.ts'
import {
  ACCOUNTS_KEY,
  feeRateSet,
  hashToken,
  tokenCreated,
  validatorsTracked,
  validatorsUntracked,
  validatorsUnwatched,
  validatorsWatched,
} from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { orderPlaced } from '../../schemas/events/orders.ts'

// What operators say of accounts, in few words. The chain is mainnet.

const chain = 'mainnet'
const envelope = { id: 'fact', key: ACCOUNTS_KEY, time: '2026-01-01T00:00:00.000Z' }

/** The first token of an account, with which it begins. */
export function created(account: string): EncodedEvent {
  return encodeEvent(tokenCreated, {
    ...envelope,
    data: { account, tokenHash: hashToken(account), name: '', scopes: ['read'] },
  })
}

/** `from` is `YYYY-MM-DD`; without it, from the start of all history. */
export function tracked(account: string, pubkeys: readonly string[], from?: string): EncodedEvent {
  const data = { chain, account, pubkeys: [...pubkeys], ...(from === undefined ? {} : { from }) }
  return encodeEvent(validatorsTracked, { ...envelope, data })
}

/** As the release before wrote it: every account that named a key was paid. */
export function trackedBefore(account: string, pubkeys: readonly string[]): EncodedEvent {
  const data = new TextEncoder().encode(JSON.stringify({ chain, account, pubkeys }))
  return { ...envelope, type: validatorsTracked.name, version: 2, data }
}

export function untracked(pubkeys: readonly string[], from: string): EncodedEvent {
  return encodeEvent(validatorsUntracked, { ...envelope, data: { chain, pubkeys: [...pubkeys], from } })
}

export function watched(account: string, pubkeys: readonly string[]): EncodedEvent {
  return encodeEvent(validatorsWatched, { ...envelope, data: { chain, account, pubkeys: [...pubkeys] } })
}

export function unwatched(account: string, pubkeys: readonly string[]): EncodedEvent {
  return encodeEvent(validatorsUnwatched, { ...envelope, data: { chain, account, pubkeys: [...pubkeys] } })
}

export function ordered(account: string): EncodedEvent {
  const wanted = {
    name: '',
    protocol: 'ethereum',
    network: 'mainnet',
    nodeType: 'full',
    location: 'eu',
    days: 30,
  } as const
  const data = { account, orderId: `ord_${'0'.repeat(16)}`, ...wanted }
  return encodeEvent(orderPlaced, { ...envelope, data })
}

/** From the start of a UTC+8 day on. */
export function rated(account: string, rate: string, day: DayNumber): EncodedEvent {
  const effectiveFrom = `${formatDay(day - 1)}T16:00:00.000Z`
  return encodeEvent(feeRateSet, { ...envelope, data: { account, rate, effectiveFrom } })
}
