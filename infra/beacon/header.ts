import { ssz } from '@lodestar/types'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { BlockHeader } from '../ports/beacon-source.ts'
import { required } from './route.ts'
import { BEACON } from './routes.ts'

/** A block's header, of whatever fork: its root is the block's (consensus-specs, BeaconBlockHeader). Throws AppError of a node fault. */
export async function askHeader(node: ChainNode, root: string): Promise<BlockHeader> {
  const what = `the header of block ${root}`
  const { data } = await required(node, BEACON.getBlockHeader, { blockId: root }, { what })
  const { message } = data.header
  const found = hexOf(ssz.phase0.BeaconBlockHeader.hashTreeRoot(message))
  if (found !== root) throw node.fault('node_inconsistent', `answered ${what} with ${found}`)
  return { slot: message.slot, root, parentRoot: hexOf(message.parentRoot) }
}
