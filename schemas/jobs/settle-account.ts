import { type Static, Type } from 'typebox'
import { job } from './job.ts'

const SettleAccountInput = Type.Object({ account: Type.String() })
export type SettleAccountInput = Static<typeof SettleAccountInput>

/** Settles every finalized block of an account's validators again: its validators or its fee rates have changed. */
export const settleAccount = job('settle-account', SettleAccountInput, ({ account }) => account)
