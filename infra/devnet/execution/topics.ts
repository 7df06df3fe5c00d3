import type { Topic } from './chain-feed.ts'
import { type LogSelection, parseLogSelection } from './logs.ts'
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcFault } from './rpc-fault.ts'

/** Values at one position of a filter; a subscription keeps them, and looks for them in every log. */
const VALUES_MAX = 1_000

/**
 * Checks the parameters of eth_subscribe. `newPendingTransactions` is of what somebody sends to this node: the scenario's own
 * transactions have no hash before they are in a block.
 */
export function parseTopic([kind, ...rest]: readonly unknown[]): Topic {
  switch (kind) {
    case 'newHeads':
      refuseMore(rest, 0)
      return { kind }
    case 'logs':
      refuseMore(rest, 1)
      return { kind, selection: parseSelection(rest[0] ?? {}) }
    case 'newPendingTransactions':
      refuseMore(rest, 1)
      if ((rest[0] ?? false) !== false) throw new RpcFault(INVALID_PARAMS, 'pending transactions are told by hash only')
      return { kind }
    default:
      if (typeof kind !== 'string')
        throw new RpcFault(INVALID_PARAMS, 'the first parameter is the kind of subscription')
      throw new RpcFault(METHOD_NOT_FOUND, `no "${kind.slice(0, 80)}" subscription in eth namespace`)
  }
}

function refuseMore(rest: readonly unknown[], most: number): void {
  if (rest.length > most) throw new RpcFault(INVALID_PARAMS, `too many parameters, at most ${1 + most}`)
}

/** New blocks have no past and no end: whatever `fromBlock` says is over, as with geth, and `toBlock` can only be the head. */
function parseSelection(value: unknown): LogSelection {
  const selection = parseLogSelection(value)
  const { toBlock, blockHash } = value as { readonly toBlock?: unknown; readonly blockHash?: unknown }
  if ((toBlock ?? 'latest') !== 'latest' || (blockHash ?? null) !== null)
    throw new RpcFault(
      INVALID_PARAMS,
      'logs are told of new blocks: a filter with toBlock or blockHash is for eth_getLogs',
    )
  if ([selection.addresses, ...selection.topics].some(({ length }) => length > VALUES_MAX))
    throw new RpcFault(INVALID_PARAMS, `at most ${VALUES_MAX} addresses, or topics at one position`)
  return selection
}
