import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { executionChain, writeChains } from '../e2e/configuration.ts'
import { type Running, runCommand, startProgram } from '../e2e/processes.ts'

const NO_NODE = 'http://127.0.0.1:9'
const BYTES_OF_KB = 1_024
const BYTES_OF_MB = 1_000_000

export interface GatewayProgram extends AsyncDisposable {
  readonly program: Running
  /** Of an account whose plan has no limits. */
  readonly key: string
}

/** The whole program in a process of its own, as a gateway to these networks (`gateway.networks`) that follows no chain. */
export async function openGatewayProgram(networks: Readonly<Record<string, object>>): Promise<GatewayProgram> {
  await using open = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'bench-gateway-'))
  open.defer(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'epochline.yaml')
  writeChains(file, { scroll_mainnet: { ...executionChain(NO_NODE), paused: true } }, { gateway: { networks } })
  const env = { EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: file }
  const program = open.use(await startProgram(['all'], env))
  const made = await runCommand(['admin', 'token', 'create', '--account', 'bench', '--new', '--scope', 'read'], env)
  if (made.code !== 0) throw new Error(made.stderr)
  const opened = open.move()
  return { program, key: made.stdout.trim(), [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Memory of a process, as the system counts it. */
export function residentMb({ pid }: Running): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return (Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * BYTES_OF_KB) / BYTES_OF_MB
}
