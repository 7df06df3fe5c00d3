import type { ChainNode } from '../nodes/nodes.ts'
import { required } from './route.ts'
import { NODE } from './routes.ts'

/** Of what a node says its client is: names and versions are shorter. */
const CLIENT_CHARACTERS_MAX = 100
/** What names and versions of clients are written with, for example `Lighthouse/v8.0.0-e3ee7fe/x86_64-linux`. */
const OTHER_CHARACTERS = /[^\w./+\- ]/g

/**
 * Name and version of a node's client, as it tells them (ethereum/beacon-APIs, apis/node/version); empty where it does not. Never throws: what is
 * told of a node is worth telling without.
 */
export async function clientOf(node: ChainNode): Promise<string> {
  try {
    const { data } = await required(node, NODE.getNodeVersion, undefined, { what: 'its version' })
    return node.quote(data.version).replaceAll(OTHER_CHARACTERS, '').slice(0, CLIENT_CHARACTERS_MAX)
  } catch {
    return ''
  }
}

/** A node with its client, for messages: `beacon node 1 (Lodestar/v1.40.0)`. */
export function withClient({ name }: ChainNode, client: string): string {
  return client === '' ? name : `${name} (${client})`
}
