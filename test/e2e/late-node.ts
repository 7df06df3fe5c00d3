import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { freePort } from './processes.ts'

/** The address of a node at which nobody listens until `arrive`; then whoever connects reaches the real one. */
export interface LateNode extends AsyncDisposable {
  readonly url: string
  arrive(): Promise<void>
}

export async function openLateNode(real: string): Promise<LateNode> {
  const { hostname, port } = new URL(real)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const node = connect(Number(port), hostname)
    for (const socket of [client, node]) {
      sockets.add(socket)
      socket.on('error', () => undefined) // either end may go at any time; the other hears of it
      socket.on('close', () => sockets.delete(socket))
    }
    client.pipe(node).pipe(client)
  })
  const ours = await freePort()
  return {
    url: `http://127.0.0.1:${ours}`,
    async arrive() {
      server.listen(ours, '127.0.0.1')
      await once(server, 'listening')
    },
    async [Symbol.asyncDispose]() {
      if (!server.listening) return
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
