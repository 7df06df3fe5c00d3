import { openExitNode } from '../../infra/beacon/exit-node.ts'
import { selectChain } from '../../infra/config/select-chain.ts'
import type { ExitChain } from '../../processors/validators/exit/exit-custody.ts'
import { devnetUrls, openChainNodes, urlsOf } from '../chain-nodes.ts'
import type { Setting } from '../setting.ts'

/** Opens a chain's beacon nodes onto the stack, for a command that has the vault itself. */
export async function openExitChain(
  { config, log, signal }: Setting,
  name: string,
  open: AsyncDisposableStack,
): Promise<ExitChain> {
  const chain = selectChain(config, name, 'beacon')
  const devnet = devnetUrls(config)
  const { beacon } = open.use(await openChainNodes(chain, { devnet, log }, signal))
  if (beacon === undefined) throw new Error('a chain with a beacon chain has beacon nodes')
  const { beaconUrls = [] } = urlsOf(chain, devnet)
  return { name, exitNode: open.use(openExitNode({ beacon, urls: beaconUrls, log })) }
}
