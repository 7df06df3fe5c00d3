import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * The address of a node that resets every connection until `arrive`; then whoever connects reaches the real one. The port is held from the
 * beginning: another test's node must not be taken for this one.
 */
export interface LateNode extends AsyncDisposable {
  readonly url: string
  arrive(): void
}

export async function openLateNode(real: string): Promise<LateNode> {
  const { hostname, port } = new URL(real)
  const sockets = new Set<Socket>()
  let isHere = false
  const server = createServer((client) => {
    if (!isHere) {
      client.resetAndDestroy()
      return
    }
    const node = connect(Number(port), hostname)
    for (const socket of [client, node]) {
      sockets.add(socket)
      socket.on('error', () => undefined) // either end may go at any time; the other hears of it
      socket.on('close', () => sockets.delete(socket))
    }
    client.pipe(node).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrive() {
      isHere = true
    },
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
