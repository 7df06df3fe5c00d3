import { gunzipSync, gzipSync } from 'node:zlib'
import type { JsonRpc } from './json-rpc.ts'

/** What is read of anvil's own dump; it is passed on whole otherwise. */
interface Dump {
  readonly best_block_number: number
  readonly blocks: readonly { readonly header: { readonly number: string } }[]
  readonly transactions: readonly unknown[]
}

/**
 * anvil's state as it is now, as JSON text. Of its blocks only the newest is kept, which the next one's fees depend on: it keeps all
 * of them, so a dump would grow with the chain's age.
 */
export async function dumpState(anvil: JsonRpc): Promise<string> {
  const packed = String(await anvil.call('anvil_dumpState', []))
  const dump = JSON.parse(gunzipSync(Buffer.from(packed.slice(2), 'hex')).toString()) as Dump
  const blocks = dump.blocks.filter(({ header }) => Number(header.number) === dump.best_block_number)
  return JSON.stringify({ ...dump, blocks, transactions: [] })
}

/** Puts a new anvil where another one was. */
export async function loadState(anvil: JsonRpc, state: string): Promise<void> {
  await anvil.call('anvil_loadState', [`0x${gzipSync(state).toString('hex')}`])
}
