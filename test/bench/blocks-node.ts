import { once } from 'node:events'
import { createServer } from 'node:http'
import { makeBlocks } from './synthetic-blocks.ts'

// A process of its own: `node blocks-node.ts <count>` tells its parent its address, and serves the blocks until it is killed.

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

const blocks = await makeBlocks(Number(process.argv[2]))
const byHash = new Map(blocks.map((block) => [block.hash, block]))

function resultOf({ method, params: [name] }: Call): string {
  if (method === 'eth_chainId') return '"0x1"'
  if (name === 'latest' || name === 'finalized') return blocks.at(-1)?.block ?? 'null'
  const text = String(name)
  const block = text.length === 66 ? byHash.get(text) : blocks[Number(text)]
  return (method === 'eth_getBlockReceipts' ? block?.receipts : block?.block) ?? 'null'
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const calls = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
  const answers = [calls].flat().map((call) => `{"jsonrpc":"2.0","id":${call.id},"result":${resultOf(call)}}`)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(Array.isArray(calls) ? `[${answers.join(',')}]` : answers[0])
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
process.send?.(`http://127.0.0.1:${address.port}`)
