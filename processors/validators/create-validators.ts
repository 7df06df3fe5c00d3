import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { KeptRequest, KeyVault } from '../../infra/ports/key-vault.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { StakingFacts, StakingNode, TransactionTerms } from '../../infra/ports/staking-node.ts'
import { isNodeFault } from '../../schemas/errors.ts'
import { checksumAddress } from '../../schemas/eth/address.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import type { SignedDeposit } from '../../schemas/eth/signed-deposit.ts'
import { gasOf, type StakingContract, serializeUnsigned, stakingCall } from '../../schemas/eth/staking-transaction.ts'
import { type ChainClock, formatInstant, slotAt } from '../../schemas/eth/time.ts'
import { toWei } from '../../schemas/eth/units.ts'
import type { CreateValidatorsInput, CreateValidatorsOutput } from '../../schemas/jobs/create-validators.ts'
import { OTHER_REQUEST } from '../../schemas/routes/idempotency-key.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'
import { createdEvent, credentialsOf } from './announce-created.ts'
import { type Clocks, isLate } from './clocks.ts'
import { durably } from './durable-steps.ts'
import type { StakingBook } from './staking-book.ts'
import type { UnfundedRoom } from './unfunded-room.ts'

/** What every validator is created with: the least that activates one (MIN_ACTIVATION_BALANCE). */
const DEPOSIT_GWEI = 32_000_000_000n

/** A chain that validators may be created on. */
export interface StakingChain {
  readonly name: string
  /** As the API's paths spell it. */
  readonly network: string
  readonly node: StakingNode
  /** Undefined where none is configured: one validator goes through the deposit contract then. */
  readonly contract: StakingContract | undefined
}

export interface Creating extends Clocks {
  readonly vault: KeyVault
  /** As the one who has the vault. */
  readonly writer: EventWriter
  readonly log: Log
  readonly book: StakingBook
  readonly room: UnfundedRoom
}

/**
 * Creates validators, or answers what was answered before to the same request. The keys and the answer are sealed before the log hears
 * of them, and the log before whoever has asked: a run that was killed in between is done again from what is sealed.
 */
export async function createForAccount(
  creating: Creating,
  chain: StakingChain,
  input: CreateValidatorsInput,
): Promise<CreateValidatorsOutput> {
  const { vault, log } = creating
  const { account, requestId } = input
  const before = await vault.request(account, requestId)
  // What was sealed is answered and told of although no node may be there to tell the slot.
  if (before !== undefined) return await announce(creating, input, { kept: before, atSlot: undefined })
  // Its keys are lost with a vault that was replaced: others under the same name would be funded a second time.
  if (creating.book.created.hasRequest(input)) return { status: 'refused', reason: LOST }
  if (isLate(creating, input.notAfterMs)) return { status: 'unavailable' }
  try {
    const facts = await chain.node.facts()
    const contract = contractFor(chain, facts, input.count)
    if (contract === undefined) return { status: 'refused', reason: NO_CONTRACT }
    const [fault, atSlot] = await Promise.all([
      faultOf(contract, facts, chain.node),
      slotOf(creating, chain, facts.clock),
    ])
    if (fault !== undefined) {
      log.error({ chain: chain.name }, fault)
      return { status: 'unavailable' }
    }
    using room = await creating.room.take(input, { clock: facts.clock, atSlot })
    if (room.refusal !== undefined) return { status: 'refused', reason: room.refusal }
    return await make(creating, input, { chain, facts, contract, atSlot })
  } catch (error) {
    if (!isNodeFault(error)) throw error
    log.warn({ chain: chain.name, reason: error.message }, 'validators could not be created: no node could be asked')
    return { status: 'unavailable' }
  }
}

/** Where validators are made: the chain with what its nodes have said of it. */
interface Place {
  readonly chain: StakingChain
  readonly facts: StakingFacts
  readonly contract: StakingContract
  readonly atSlot: number
}

/** Makes the keys, seals them with the answer, and tells of them. */
async function make(
  creating: Creating,
  input: CreateValidatorsInput,
  { atSlot, ...place }: Place,
): Promise<CreateValidatorsOutput> {
  const { vault, log } = creating
  const { account, requestId, bodyHash } = input
  const preparing = vault.prepare(input.count, {
    chain: place.chain.name,
    genesisForkVersion: place.facts.genesisForkVersion,
    withdrawalCredentials: bytesOf(credentialsOf(input.withdrawalAddress)),
    amountGwei: DEPOSIT_GWEI,
  })
  // While the vault computes, there is time to ask a node.
  const [prepared, terms] = await Promise.all([preparing, termsOf(place.chain, input.depositFrom, log)])
  const answer = answerOf({ ...place, terms }, input, prepared.deposits)
  if (answer.status === 'refused') return answer
  const kept = await durably('create-sealed', () =>
    vault.commit(prepared.id, requestId, { account, bodyHash, answer: answer.text }),
  )
  return await announce(creating, input, { kept, atSlot })
}

/** The slot that the chain is at: its clock's, or its head's, which is ahead where a devnet is in time-lapse. */
async function slotOf({ log, now }: Creating, { name, node }: StakingChain, clock: ChainClock): Promise<number> {
  const byClock = Math.max(0, slotAt(clock, now() / 1_000))
  try {
    return Math.max(byClock, await node.headSlot())
  } catch (error) {
    if (!isNodeFault(error)) throw error
    log.warn({ chain: name, reason: error.message }, 'the slot of created validators is that of the clock')
    return byClock
  }
}

const NO_CONTRACT =
  'validator_count is above 1, and no contract that takes several deposits is configured for this network'
const LOST =
  'the validators that this Idempotency-Key was answered with are no longer in the key vault: do not fund them, and ask the operator'

function contractFor({ contract }: StakingChain, facts: StakingFacts, count: number): StakingContract | undefined {
  if (contract !== undefined) return contract
  return count === 1 ? { kind: 'deposit', address: facts.depositContract, feeWei: 0n } : undefined
}

/** Why nothing may be sent to a contract; the operator has to see to it. */
async function faultOf(
  { kind, address }: StakingContract,
  facts: StakingFacts,
  node: StakingNode,
): Promise<string | undefined> {
  if (kind !== 'deposit' && address === facts.depositContract)
    return 'the configured staking contract is the deposit contract itself, which takes one deposit at a time: leave it out'
  return (await node.hasCode(address)) ? undefined : 'there is no contract at the address of the staking contract'
}

/** Tells the log what it has not been told, and then whoever has asked. */
async function announce(
  { writer, now, book }: Creating,
  input: CreateValidatorsInput,
  { kept, atSlot }: { readonly kept: KeptRequest; readonly atSlot: number | undefined },
): Promise<CreateValidatorsOutput> {
  if (kept.bodyHash !== input.bodyHash) return { status: 'refused', reason: OTHER_REQUEST }
  const { chain, account, requestId } = input
  // Its client may repeat the request while it is being told of.
  await book.turns.take(account, async () => {
    if (book.created.hasRequest(input)) return
    const time = formatInstant(Math.floor(now() / 1_000))
    const event = createdEvent({ chain, account, requestId, answer: kept.answer, time, createdAtSlot: atSlot })
    await durably('create-told', () => book.tell(writer, [event]))
  })
  return { status: 'created', answer: kept.answer }
}

type Answered =
  | { readonly status: 'ok'; readonly text: string }
  | { readonly status: 'refused'; readonly reason: string }

function answerOf(
  { chain, facts, contract, terms }: Omit<Place, 'atSlot'> & { readonly terms: TransactionTerms | undefined },
  input: CreateValidatorsInput,
  deposits: readonly SignedDeposit[],
): Answered {
  const call = stakingCall(contract, deposits)
  if (call.status === 'refused') return call
  const gas = gasOf(deposits.length)
  const created: Created = {
    validators: deposits.map((deposit) => toCreated(deposit, input, { network: chain.network, facts })),
    staking_transaction: {
      from: checksumAddress(input.depositFrom),
      to: checksumAddress(call.to),
      amount_wei: String(call.valueWei),
      contract_call_data: call.data,
      gas: String(gas),
      unsigned_transaction:
        terms === undefined
          ? null
          : serializeUnsigned({
              chainId: facts.chainId,
              nonce: terms.nonce,
              ...call,
              gas,
              maxFeePerGas: terms.maxFeePerGasWei,
              maxPriorityFeePerGas: terms.maxPriorityFeePerGasWei,
            }),
    },
  }
  return { status: 'ok', text: JSON.stringify(created) }
}

/** What the node says of the transaction; undefined where none does: the sender's wallet asks for nonce and fees as well. */
async function termsOf({ name, node }: StakingChain, sender: string, log: Log): Promise<TransactionTerms | undefined> {
  try {
    return await node.terms(sender)
  } catch (error) {
    if (!isNodeFault(error)) throw error
    log.warn({ chain: name, reason: error.message }, 'a staking transaction was made without nonce and fees')
    return undefined
  }
}

function toCreated(
  deposit: SignedDeposit,
  { withdrawalAddress, depositFrom, feeRecipient }: CreateValidatorsInput,
  { network, facts }: { readonly network: string; readonly facts: StakingFacts },
): Created['validators'][number] {
  return {
    network,
    pubkey: hexOf(deposit.pubkey),
    amount_wei: String(toWei(deposit.amountGwei)),
    withdrawal_address: checksumAddress(withdrawalAddress),
    deposit_from_address: checksumAddress(depositFrom),
    fee_recipient_address: checksumAddress(feeRecipient),
    deposit_data: {
      amount: Number(deposit.amountGwei),
      signature: hexOf(deposit.signature),
      deposit_data_root: hexOf(deposit.dataRoot),
      deposit_message_root: hexOf(deposit.messageRoot),
      fork_version: hexOf(facts.genesisForkVersion),
    },
  }
}
