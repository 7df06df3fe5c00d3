import type { FastifyInstance } from 'fastify'
import type { SharedParts } from '../http/api-parts.ts'
import { acceptTextOfAnyType } from '../http/body-rules.ts'
import type { AccountOperation } from './account.ts'
import { createKey, deleteKey, listKeys } from './keys.ts'
import { logIn, logOut, requestReset, resetPassword } from './log-in.ts'
import { closeAccount, me } from './me.ts'
import { cancelOrder, getOrder, listOrders, placeOrder } from './orders.ts'
import { serveAccount } from './serve.ts'
import { signUp, verifyEmail } from './sign-up.ts'
import { usage } from './usage.ts'

export const ACCOUNT_OPERATIONS: readonly AccountOperation[] = [
  ...[signUp, verifyEmail, logIn, logOut, requestReset, resetPassword],
  ...[me, closeAccount, createKey, listKeys, deleteKey, usage],
  ...[placeOrder, listOrders, getOrder, cancelOrder],
]

/** Accounts that people make themselves: a cookie says who asks, and one process decides (decision 42). */
export async function accountPlugin(app: FastifyInstance, parts: SharedParts): Promise<void> {
  acceptTextOfAnyType(app)
  serveAccount(app, ACCOUNT_OPERATIONS, parts)
}
