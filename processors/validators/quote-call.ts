import type { StakedValidator } from '../../infra/ports/unstake-node.ts'
import { exitRequestCall } from '../../schemas/eth/withdrawal-request.ts'
import type { ExitCallFault, PassedOver } from '../../schemas/exit-reasons.ts'
import type { QuoteUnstakeInput, QuoteUnstakeOutput } from '../../schemas/jobs/quote-unstake.ts'
import { type CallJudgement, judgeCall, paysTo } from './exit/judge-call.ts'
import { viewCall } from './exit/view-call.ts'
import type { Unquoting, UnstakeChain } from './quote-unstake.ts'
import { quotedTransaction } from './quoted-transaction.ts'

/** A call takes 24,000, and for each validator 48 bytes of call data at the floor of EIP-7623, 1,920, and of a log, 384. */
const CALL_GAS = 40_000n
const VALIDATOR_GAS = 2_500n

const FAULTS: Readonly<Record<ExitCallFault, string>> = {
  malformed: 'is not a public key',
  too_many_validators: 'is one of too many',
  too_old: 'is asked for too late',
  no_validators_here: 'none of the validators is run by this service: ask for one at a time',
  unknown_validator: 'is not known to the chain',
  not_withdrawal_address: 'has another withdrawal address',
}
const PASSED: Readonly<Record<PassedOver, string>> = {
  already_exiting: 'is exiting already',
  not_deposited: 'is not deposited yet',
  key_not_in_vault: 'is not run by this service: ask for it alone',
  key_came_later: 'is not run by this service: ask for it alone',
  no_account: 'is nobody’s here: ask for it alone',
}

/** The transaction by which a withdrawal address asks the operator for the exits of several validators: of all of them, or there is none. */
export async function quoteCall(
  unquoting: Unquoting,
  chain: UnstakeChain,
  { address, pubkeys, amountGwei }: QuoteUnstakeInput,
): Promise<QuoteUnstakeOutput> {
  const { node, exitContract: contract } = chain
  if (contract === undefined) return refused(ONE_AT_A_TIME)
  const { funded, registered: onLog, now } = unquoting
  const calledFor = pubkeys === 'all' ? ({ kind: 'all' } as const) : ({ kind: 'listed', pubkeys } as const)
  // Anybody may ask, for any address: of what others have here no node is asked.
  if (calledFor.kind === 'all') await onLog.readOn()
  const [{ validators, registered }, hasCode] = await Promise.all([
    viewCall(unquoting, chain, {
      ...{ withdrawalAddress: address, calledFor, state: 'head', timeSec: now() / 1_000, blockNumber: 0 },
      depositBlock: (pubkey) => (funded.has(chain.name, pubkey) ? 0 : undefined),
      mayPay: (pubkey) => paysTo(onLog.credentialsOf(chain.name, pubkey) ?? '', address),
    }),
    node.hasCode(contract),
  ])
  if (!hasCode) {
    unquoting.log.error(
      { chain: chain.name, contract },
      'there is no contract at the address that is configured for exit requests',
    )
    return { status: 'unavailable' }
  }
  const judgement = judgeCall(address, validators)
  const reason = reasonToRefuse(judgement, calledFor.kind)
  const unknown = unknownIn(judgement)
  if (reason !== undefined) return { status: 'refused', reason, ...(unknown === undefined ? {} : { unknown }) }
  if (
    amountGwei !== undefined &&
    !isAllOf(
      validators.map(({ pubkey }) => registered.get(pubkey)),
      BigInt(amountGwei),
    )
  )
    return refused('several validators are unstaked as a whole: leave the amount out')
  const transaction = await quotedTransaction(node, {
    ...{ from: address, to: contract, valueWei: 0n, data: exitRequestCall(pubkeys) },
    gasFallback: CALL_GAS + VALIDATOR_GAS * BigInt(pubkeys === 'all' ? 0 : pubkeys.length),
  })
  return transaction === undefined ? { status: 'unavailable' } : { status: 'quoted', transaction }
}

const ONE_AT_A_TIME =
  'several validators are unstaked through a contract, and none is configured: ask for one at a time'

/** Why the call would not do all that is asked for. Of `all`, those that are leaving stand in nobody’s way. */
function reasonToRefuse(judgement: CallJudgement, kind: 'listed' | 'all'): string | undefined {
  if (judgement.status === 'ignored') {
    const { reason, pubkey } = judgement
    return pubkey === undefined ? FAULTS[reason] : `${pubkey} ${FAULTS[reason]}`
  }
  for (const [reason, [pubkey]] of judgement.passedOver)
    if (kind === 'listed' || reason !== 'already_exiting') return `${pubkey} ${PASSED[reason]}`
  return judgement.exits.size === 0 ? 'all of the validators are exiting already' : undefined
}

function unknownIn(judgement: CallJudgement): string | undefined {
  return judgement.status === 'ignored' && judgement.reason === 'unknown_validator' ? judgement.pubkey : undefined
}

/** Whether an amount is the sum of the balances or of the effective balances. */
function isAllOf(validators: readonly (StakedValidator | undefined)[], amountGwei: bigint): boolean {
  const sumOf = (field: 'balanceGwei' | 'effectiveBalanceGwei') =>
    validators.reduce((sum, validator) => sum + (validator?.[field] ?? 0n), 0n)
  return amountGwei === sumOf('balanceGwei') || amountGwei === sumOf('effectiveBalanceGwei')
}

function refused(reason: string): QuoteUnstakeOutput {
  return { status: 'refused', reason }
}
