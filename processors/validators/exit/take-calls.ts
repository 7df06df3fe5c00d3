import { isNodeFault } from '../../../schemas/errors.ts'
import { epochOf, slotAt } from '../../../schemas/eth/time.ts'
import {
  callRequestId,
  type ExitCallRead,
  exitCallId,
  exitCallRead,
  PASSED_OVER_NAMED_MAX,
} from '../../../schemas/events/exit-calls.ts'
import { EXITED_MAX, type ExitAsked, exitRequested } from '../../../schemas/events/exits.ts'
import type { TakeExitCallsInput, TakenCall } from '../../../schemas/jobs/take-exit-calls.ts'
import { durably } from '../durable-steps.ts'
import type { UnstakeChain } from '../quote-unstake.ts'
import { type ExitCustody, exitEvent } from './exit-custody.ts'
import { type CallJudgement, judgeCall } from './judge-call.ts'
import { isUnderWay } from './request-exits.ts'
import { viewCall } from './view-call.ts'

/** Epochs after which a call that nobody has read counts no more, 7 days of mainnet: who has waited for so long is asked to call again. */
export const CALL_EPOCHS_MAX = 1_575

/** A chain with an exit-request contract (lower-case hex). */
type CallChain = Pick<UnstakeChain, 'name' | 'node' | 'unstakeNode'> & { readonly exitContract: string }

/**
 * Takes calls to the chain's exit-request contract, each once: the log has the requests for exits that a call makes and then what became
 * of it. Killed between the two, the next taking makes the same requests, which are under way then. What cannot be judged, because no node
 * answers, is asked for again.
 */
export async function takeCalls(
  custody: ExitCustody,
  chain: Pick<UnstakeChain, 'name' | 'node' | 'unstakeNode' | 'exitContract'>,
  { contract, calls }: TakeExitCallsInput,
): Promise<void> {
  const { book, log } = custody
  // Another one was configured until a moment ago.
  if (contract !== chain.exitContract) return
  for (const call of calls) {
    if (book.calls.has({ ...call, chain: chain.name })) continue
    try {
      await takeCall(custody, { ...chain, exitContract: contract }, call)
    } catch (error) {
      if (!isNodeFault(error)) throw error
      log.warn({ chain: chain.name, reason: error.message }, 'a call for exits waits: no node could be asked')
      return
    }
  }
}

async function takeCall(custody: ExitCustody, chain: CallChain, call: TakenCall): Promise<void> {
  const judgement = await judge(custody, chain, call)
  await custody.inTurn(() => tellCall(custody, chain, call, judgement))
}

async function judge(custody: ExitCustody, chain: CallChain, call: TakenCall): Promise<CallJudgement> {
  const { calledFor, withdrawalAddress, timeSec, blockNumber } = call
  if (calledFor.kind === 'faulty') return { status: 'ignored', reason: calledFor.fault }
  const [{ clock }, headEpoch] = await Promise.all([chain.node.facts(), chain.unstakeNode.headEpoch()])
  if (headEpoch - epochOf(clock, slotAt(clock, timeSec)) > CALL_EPOCHS_MAX)
    return { status: 'ignored', reason: 'too_old' }
  const deposits = new Map(call.deposits.map((deposit) => [deposit.pubkey, deposit.blockNumber]))
  const { validators } = await viewCall(custody, chain, {
    ...{ withdrawalAddress, calledFor, timeSec, blockNumber },
    depositBlock: (pubkey) => deposits.get(pubkey),
    // The log may be behind the final registry, and a call is judged once.
    mayPay: () => true,
    state: 'finalized',
  })
  return judgeCall(withdrawalAddress, validators)
}

/** One append: the requests, then the end of the call. Only in a turn. */
async function tellCall(
  custody: ExitCustody,
  chain: CallChain,
  call: TakenCall,
  judgement: CallJudgement,
): Promise<void> {
  const { book, writer, log } = custody
  const requests = judgement.status === 'taken' ? requestsOf(custody, chain.name, call, judgement.exits) : []
  const scheduled = requests.reduce((sum, { pubkeys }) => sum + pubkeys.length, 0)
  const read = readOf(chain, call, outcomeOf(judgement, scheduled))
  const events = [
    ...requests.map((data) => exitEvent(custody, exitRequested, { id: `${data.chain}:${data.requestId}`, data })),
    exitEvent(custody, exitCallRead, { id: exitCallId(read), data: read }),
  ]
  // From here on they exit, unless they are cancelled before they are signed.
  await durably('exit-called', () => book.tell(writer, events))
  const { outcome, txHash, withdrawalAddress } = read
  const fields = { chain: chain.name, txHash, withdrawalAddress, ...outcome }
  if (outcome.status === 'ignored') log.warn(fields, 'a call for exits was ignored')
  else log.info(fields, 'a call for exits was taken')
}

/** What is asked of exits that are not under way, as an account asks by the API. A call that is taken again makes the same requests. */
function requestsOf(
  { book }: ExitCustody,
  chain: string,
  call: TakenCall,
  exits: ReadonlyMap<string, readonly string[]>,
): readonly ExitAsked[] {
  const actor = call.txHash.slice(2)
  return [...exits].flatMap(([account, pubkeys]) =>
    Array.from({ length: Math.ceil(pubkeys.length / EXITED_MAX) }, (_, part): ExitAsked => {
      const own = pubkeys.slice(part * EXITED_MAX, (part + 1) * EXITED_MAX)
      const wanted = own.filter((pubkey) => !isUnderWay(book.exits.of(chain, pubkey), account))
      return { chain, account, requestId: callRequestId({ chain, ...call }, account, part), actor, pubkeys: wanted }
    }).filter(({ pubkeys: wanted }) => wanted.length > 0),
  )
}

function readOf(
  { name: chain, exitContract: contract }: CallChain,
  { blockNumber, blockHash, logIndex, txHash, withdrawalAddress }: TakenCall,
  outcome: ExitCallRead['outcome'],
): ExitCallRead {
  return { chain, contract, blockNumber, blockHash, logIndex, txHash, withdrawalAddress, outcome }
}

function outcomeOf(judgement: CallJudgement, scheduled: number): ExitCallRead['outcome'] {
  if (judgement.status === 'ignored') return judgement
  const passedOver = [...judgement.passedOver].map(([reason, pubkeys]) => ({
    ...{ reason, validators: pubkeys.length, pubkeys: pubkeys.slice(0, PASSED_OVER_NAMED_MAX) },
  }))
  return { status: 'taken', scheduled, passedOver }
}
