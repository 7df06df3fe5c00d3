import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
// What the program that opens sources has loaded before any of their threads begins.
import '../../infra/beacon/source.ts'

// A program of its own, because what it looks for ends the process: threads that compute committees begin and end beside each other, as
// those of beacon sources do when the configuration changes, with committees being drawn by Node's pool.

const ROUNDS = 40
const THREADS = 4
/** A round in which threads begin takes some 60 ms. */
const BESIDE_MS = 40
/** To draw them takes as long. */
const MEMBERS = 100_000

const SOURCE = `
  const { parentPort } = require('node:worker_threads')
  import('@chainsafe/swap-or-not-shuffle').then(({ asyncUnshuffleList }) => {
    asyncUnshuffleList(new Uint32Array(${MEMBERS}), new Uint8Array(32), 90)
    parentPort.postMessage('begun')
    parentPort.once('message', () => parentPort.close())
  })`

const begin = async (): Promise<Worker> => {
  const thread = new Worker(SOURCE, { eval: true })
  await new Promise((resolve) => thread.once('message', resolve))
  return thread
}

async function end(thread: Worker): Promise<void> {
  const ended = new Promise((resolve) => thread.once('exit', resolve))
  thread.postMessage('end')
  await ended
}

const beginAll = () => Array.from({ length: THREADS }, begin)
let threads = await Promise.all(beginAll())
for (let round = 0; round < ROUNDS; round++) {
  const next = beginAll()
  await sleep((BESIDE_MS * (round % 8)) / 8)
  await Promise.all(threads.map(end))
  threads = await Promise.all(next)
}
await Promise.all(threads.map(end))
