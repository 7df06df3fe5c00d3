import { isNodeFault } from '../../schemas/errors.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { ChainNode, NodeAnswer } from '../nodes/nodes.ts'
import type { BeaconChain, ChangingValidator, QueueFields, StakingQueues } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import { refuseOptimistic } from './answer-flags.ts'
import { presetMatches } from './block.ts'
import { askChanging } from './changing-validators.ts'
import { PENDING_CONSOLIDATION, PENDING_DEPOSIT, PENDING_PARTIAL, readPubkeys, readRecords } from './queue-bodies.ts'
import { askExiting, askRegistryFigures, NOBODY } from './registry-figures.ts'
import { missing, pathOf, type Route, required } from './route.ts'
import { BEACON } from './routes.ts'
import { askQueueFields } from './state-fields.ts'
import type { Ask, WideTables } from './wide-tables.ts'

const SSZ_OR_JSON = 'application/octet-stream;q=1.0,application/json;q=0.9'

export interface QueueParts {
  readonly tables: WideTables
  readonly log: Log
  readonly chain: () => Promise<BeaconChain>
  /** Public keys of one's own, lower-case hex. */
  readonly own: readonly string[]
}

/** Everything that waits at the node's head. Throws AppError of a node fault. */
export async function askQueues(node: ChainNode, { tables, log, chain, own }: QueueParts): Promise<StakingQueues> {
  const { slot, root } = await askHead(node)
  const state = { stateId: slot }
  const what = `the state of slot ${slot}`
  const { data: finality } = await required(node, BEACON.getStateFinalityCheckpoints, state, { what })
  const deposits = await askQueue(node, BEACON.getPendingDeposits, slot)
  if (deposits === undefined) return missing(node, `the pending deposits of slot ${slot}`)
  const partials = await askQueue(node, BEACON.getPendingPartialWithdrawals, slot)
  const consolidations = await askQueue(node, BEACON.getPendingConsolidations, slot)
  const depositors = readPubkeys(deposits)
  const changing = await askChanging(node, slot, [...new Set([...depositors, ...own])])
  const fields = presetMatches((await chain()).spec) ? await fieldsIfTold(node, slot, log) : undefined
  const askThis: Ask = (_, question) => question(node)
  const registry = await askRegistryFigures(askThis, tables, slot)
  const queues = {
    slot,
    root,
    finalizedEpoch: finality.finalized.epoch,
    deposits: {
      ...readRecords(PENDING_DEPOSIT, deposits),
      withdrawableEpoch: BigUint64Array.from(depositors, (pubkey) => leavesBy(changing.get(pubkey))),
    },
    own: own.flatMap((pubkey) => changing.get(pubkey) ?? []),
    partials: readRecords(PENDING_PARTIAL, partials ?? EMPTY),
    consolidatedIndices: readRecords(PENDING_CONSOLIDATION, consolidations ?? EMPTY).sourceIndex,
    fields,
    exiting: fields === undefined ? await askExiting(node, slot, registry.size) : NOBODY,
    registry,
    sweepPosition: fields?.nextWithdrawalValidatorIndex ?? (await afterLastWithdrawal(node, slot)),
  }
  const after = await required(node, BEACON.getBlockHeader, { blockId: slot }, { what: `block ${slot}` })
  if (hexOf(after.data.root) === root) return queues
  throw node.fault('node_inconsistent', `went over to another fork while its queues of slot ${slot} were read`)
}

async function askHead(node: ChainNode): Promise<{ readonly slot: number; readonly root: string }> {
  const { data, flags } = await required(node, BEACON.getBlockHeader, { blockId: 'head' }, { what: 'a head' })
  refuseOptimistic(node, 'its head', flags)
  return { slot: data.header.message.slot, root: hexOf(data.root) }
}

function leavesBy(validator: ChangingValidator | undefined): bigint {
  return validator?.withdrawableEpoch === undefined ? FAR_FUTURE_EPOCH : BigInt(validator.withdrawableEpoch)
}

function askQueue<Data, Meta>(
  node: ChainNode,
  route: Route<{ stateId: number }, Data, Meta>,
  slot: number,
): Promise<NodeAnswer | undefined> {
  return node.request({ method: 'GET', path: pathOf(route, { stateId: slot }), accept: SSZ_OR_JSON })
}

const EMPTY: NodeAnswer = { headers: {}, body: new Uint8Array(0) }

/** Many nodes keep the debug routes closed, and each says so in its own way: estimates do without, and say so. */
async function fieldsIfTold(node: ChainNode, slot: number, log: Log): Promise<QueueFields | undefined> {
  try {
    return await askQueueFields(node, slot)
  } catch (error) {
    if (!isNodeFault(error)) throw error
    log.debug({ code: error.code }, `estimates of exits are less exact: ${error.message}`)
    return undefined
  }
}

async function afterLastWithdrawal(node: ChainNode, slot: number): Promise<number> {
  const { data } = await required(node, BEACON.getBlockV2, { blockId: slot }, { what: `block ${slot}` })
  const { body } = data.message
  const withdrawals =
    'executionPayload' in body && 'withdrawals' in body.executionPayload ? body.executionPayload.withdrawals : []
  const last = withdrawals.at(-1)
  return last === undefined ? 0 : last.validatorIndex + 1
}
