import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

// A node of XRP in a process of its own: it tells its parent its port, and repeats what it is sent over WebSocket until it is killed.

const HEAD = JSON.stringify({ result: { info: { validated_ledger: { seq: 100 } } } })

const server = createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json' }).end(HEAD)
})
const sockets = new WebSocketServer({ server })
sockets.on('connection', (socket) => {
  socket.on('error', () => {}) // whoever has gone is closed next
  socket.on('message', (data) => socket.send(data, { binary: false }))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)
