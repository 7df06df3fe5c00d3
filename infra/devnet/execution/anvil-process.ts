import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../../schemas/errors.ts'
import { ROLLBACK_BLOCKS_MAX } from '../engine.ts'
import { type JsonRpc, openJsonRpc } from './json-rpc.ts'

export interface AnvilOptions {
  readonly chainId: number
  readonly genesisTimeSec: number
  readonly mnemonic: string
  readonly accounts: number
  readonly accountBalanceEth: number
  readonly gasLimit: number
  readonly baseFeeWei: bigint
  /** A genesis.json whose `alloc` is the state of block 0. */
  readonly genesisFile: string
}

export interface Anvil extends AsyncDisposable {
  readonly pid: number
  readonly url: string
  readonly rpc: JsonRpc
}

/** States kept for eth_call on recent blocks and for rollbacks; older ones are dropped. */
const STATES_KEPT = ROLLBACK_BLOCKS_MAX + 4
/** Blocks whose transactions anvil itself keeps; the front serves all blocks from its own store. */
const BLOCKS_KEPT = ROLLBACK_BLOCKS_MAX + 4
const START_TIMEOUT_MS = 15_000
const START_POLL_MS = 15
const PORT_ATTEMPTS_MAX = 3

/**
 * Runs a command until it ends or until the other end of stdin closes, so that anvil ends with us however we end,
 * kill -9 included.
 */
const GUARD_SCRIPT = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
trap 'kill $child' TERM INT
{ read -r line <&3; kill $child; } 2>/dev/null &
guard=$!
wait $child
code=$?
kill $guard 2>/dev/null
exit $code
`

/**
 * Starts anvil on a free private port: no automining, first come first served, newest fork that it supports. Resolves
 * when it answers. Throws AppError `config` when the binary is not there or does not start.
 */
export async function openAnvil(options: AnvilOptions): Promise<Anvil> {
  const binary = anvilBinary()
  for (let attempt = 1; ; attempt++) {
    // Another program may take the port between our look and anvil's; then anvil ends and the next port is tried.
    const port = await freePort()
    const child = startGuarded(binary, [...anvilArguments(options), '--port', String(port)])
    const url = `http://127.0.0.1:${port}`
    const rpc = openJsonRpc(url)
    if (await answers(child, rpc))
      return { pid: child.pid ?? 0, url, rpc, [Symbol.asyncDispose]: () => stop(child, rpc) }
    await stop(child, rpc)
    if (attempt === PORT_ATTEMPTS_MAX) {
      throw new AppError('config', `the devnet's execution client (anvil) did not start in ${START_TIMEOUT_MS} ms`)
    }
  }
}

function anvilArguments(options: AnvilOptions): string[] {
  return [
    ...['--host', '127.0.0.1', '--quiet', '--no-mining', '--order', 'fifo', '--hardfork', 'osaka'],
    ...['--init', options.genesisFile, '--chain-id', String(options.chainId)],
    ...['--timestamp', String(options.genesisTimeSec), '--gas-limit', String(options.gasLimit)],
    ...['--block-base-fee-per-gas', String(options.baseFeeWei), '--no-request-size-limit'],
    ...['--mnemonic', options.mnemonic, '--accounts', String(options.accounts)],
    ...['--balance', String(options.accountBalanceEth)],
    ...['--prune-history', String(STATES_KEPT), '--transaction-block-keeper', String(BLOCKS_KEPT)],
  ]
}

function anvilBinary(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  try {
    const fromAnvil = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'))
    const manifest = fromAnvil.resolve(`@foundry-rs/anvil-${process.platform}-${arch}/package.json`)
    return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil')
  } catch (cause) {
    throw new AppError('config', `the devnet needs anvil for ${process.platform}-${arch}: run npm ci on this machine`, {
      cause,
    })
  }
}

/** In a process group of its own: Ctrl-C reaches us, and we stop it when the last block is sealed. */
function startGuarded(binary: string, args: readonly string[]): ChildProcess {
  const child = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'anvil-guard', binary, ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  // A process that could not be started has no pid, which is how the caller sees it.
  child.once('error', () => undefined)
  return child
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return address.port
}

async function answers(child: ChildProcess, rpc: JsonRpc): Promise<boolean> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (child.exitCode === null && child.pid !== undefined && performance.now() < deadline) {
    if (await rpc.isUp()) return true
    await delay(START_POLL_MS)
  }
  return false
}

async function stop(child: ChildProcess, rpc: JsonRpc): Promise<void> {
  await rpc[Symbol.asyncDispose]()
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  // The guard ends anvil when its stdin closes, and itself after anvil.
  child.stdin?.end()
  await exited
}
