import { once } from 'node:events'
import { createServer } from 'node:http'
import { makeBlocks } from './synthetic-blocks.ts'

// A process of its own: `node blocks-node.ts <count> [<head>]` tells its parent its address, and serves the blocks until it is killed. With
// a head it has no blocks above it, which goes up by one with each message; whose receipts were asked for it tells when they are sent.

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

const blocks = await makeBlocks(Number(process.argv[2]))
const NO_BLOCK = { hash: '', block: '', receipts: '' }
let head = Number(process.argv[3] ?? blocks.length - 1)
const byHash = new Map(blocks.map((block) => [block.hash, block]))

function resultOf({ method, params: [name] }: Call): string {
  if (method === 'eth_chainId') return '"0x1"'
  // Nothing is read of contracts that are none, and tell nothing.
  if (method === 'eth_getCode' || method === 'eth_call') return '"0x"'
  if (name === 'latest' || name === 'finalized') return blocks[head]?.block ?? 'null'
  const block = blockOf(name)
  return (method === 'eth_getBlockReceipts' ? block?.receipts : block?.block) ?? 'null'
}

function blockOf(name: unknown) {
  const text = String(name)
  const number = Number(text)
  return text.length === 66 ? byHash.get(text) : number <= head ? blocks[number] : undefined
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const calls = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
  const answers = [calls].flat().map((call) => `{"jsonrpc":"2.0","id":${call.id},"result":${resultOf(call)}}`)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.on('finish', () => {
    for (const { method, params } of [calls].flat())
      if (method === 'eth_getBlockReceipts')
        process.send?.({ sent: blocks.indexOf(blockOf(params[0]) ?? NO_BLOCK), atMs: now() })
  })
  response.end(Array.isArray(calls) ? `[${answers.join(',')}]` : answers[0])
})
/** By the machine's clock, as the parent has it. */
const now = (): number => performance.timeOrigin + performance.now()

process.on('message', () => head++)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
process.send?.({ url: `http://127.0.0.1:${address.port}` })
