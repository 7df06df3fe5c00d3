import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { EXIT_CALL_FAULTS, PASSED_OVER } from '../exit-reasons.ts'
import { jsonEvent } from './codec.ts'
import { Address, Chain, Hash, Pubkey, UInt } from './fields.ts'

/** Public keys that are named beside a reason: who wants more of them looks for those that do not exit. */
export const PASSED_OVER_NAMED_MAX = 100

const ExitCallRead = Type.Object({
  chain: Chain,
  contract: Address,
  blockNumber: UInt,
  blockHash: Hash,
  logIndex: UInt,
  txHash: Hash,
  withdrawalAddress: Address,
  outcome: Type.Union([
    /** `scheduled`: exits that were requested by it (`account.exit-requested`), those under way not counted. */
    Type.Object({
      status: Type.Literal('taken'),
      scheduled: UInt,
      passedOver: Type.Array(
        Type.Object({
          reason: Type.Enum([...PASSED_OVER]),
          validators: UInt,
          /** The first of them. */
          pubkeys: Type.Array(Pubkey, { maxItems: PASSED_OVER_NAMED_MAX }),
        }),
        { maxItems: PASSED_OVER.length },
      ),
    }),
    /** Nothing was done; `pubkey` is the first one that stands in its way. */
    Type.Object({
      status: Type.Literal('ignored'),
      reason: Type.Enum([...EXIT_CALL_FAULTS]),
      pubkey: Type.Optional(Pubkey),
    }),
  ]),
})
export type ExitCallRead = Static<typeof ExitCallRead>

/** What names a call: a log of a block. */
export type ExitCallName = Pick<ExitCallRead, 'chain' | 'blockHash' | 'logIndex'>

export function exitCallId({ chain, blockHash, logIndex }: ExitCallName): string {
  return `${chain}:${blockHash}:${logIndex}`
}

/**
 * What became of a final call to the exit-request contract: told once, behind the requests for exits that it made. Key: `ACCOUNTS_KEY`; id
 * `account.exit-call-read:<chain>:<block hash>:<log index>`.
 */
export const exitCallRead = jsonEvent({ name: 'account.exit-call-read', version: 1, topic: 'accounts' }, ExitCallRead)

const REQUEST_ID_DIGITS = 36

/** Names the request for exits that a call is for an account; `part`: an account may have more validators than one request takes. */
export function callRequestId(call: ExitCallName, account: string, part: number): string {
  const name = `${exitCallId(call)}/${account}/${part}`
  return createHash('sha256').update(name).digest('hex').slice(0, REQUEST_ID_DIGITS)
}
