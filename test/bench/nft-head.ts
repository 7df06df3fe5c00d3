import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { executionChain, writeChains } from '../e2e/configuration.ts'
import { eventually, runCommand, startProgram } from '../e2e/processes.ts'
import { Report } from './report.ts'
import { LOGS_PER_BLOCK, RECEIVER, TRANSACTIONS_PER_BLOCK } from './synthetic-blocks.ts'

/** There before the clock starts. */
const BLOCKS_BEFORE = 300
const BLOCKS = 200
const P99_MS_MAX = 250
const ASK_EVERY_MS = 5
/** After them it works no more. */
const QUIET_MS = 10_000
const START_MS_MAX = 180_000
const CHAIN = 'scroll_mainnet'

/** `npm run bench nft-head`: from the last byte of a new block to the answer that has it, through the whole program. */
export async function benchNftHead(): Promise<boolean> {
  const report = new Report()
  const directory = mkdtempSync(join(tmpdir(), 'bench-nft-head-'))
  const child = join(import.meta.dirname, 'blocks-node.ts')
  const node = fork(child, [String(BLOCKS_BEFORE + BLOCKS + 1), String(BLOCKS_BEFORE)])
  try {
    const [{ url }] = (await once(node, 'message')) as [{ readonly url: string }]
    const file = join(directory, 'epochline.yaml')
    writeChains(file, { [CHAIN]: executionChain(url) })
    const env = { EPOCHLINE_DATA: join(directory, 'data'), EPOCHLINE_CONFIG: file }
    await using program = await startProgram(['all'], env)
    const made = await runCommand(['admin', 'token', 'create', '--account', 'bench', '--new', '--scope', 'read'], env)
    if (made.code !== 0) throw new Error(made.stderr)
    const base = `${program.url}/nft/${CHAIN}/${made.stdout.trim()}`
    const heightTold = async (): Promise<number> => {
      const response = await fetch(`${base}/getNFTsForOwner?owner=${RECEIVER}&with_metadata=false`)
      const { valid_at } = (await response.json()) as { readonly valid_at?: { readonly block_number: number } }
      return valid_at?.block_number ?? -1
    }
    const isThere = async () => (await heightTold()) >= BLOCKS_BEFORE || undefined
    await eventually('the blocks before', isThere, START_MS_MAX)
    await wait(QUIET_MS)
    report.heading(
      `a head block of ${TRANSACTIONS_PER_BLOCK} transactions and ${LOGS_PER_BLOCK} logs, from the node to getNFTsForOwner`,
    )
    const took: number[] = []
    for (let number = BLOCKS_BEFORE + 1; number <= BLOCKS_BEFORE + BLOCKS; number++) {
      const sentMs = await nextBlock(node, number)
      while ((await heightTold()) < number) await wait(ASK_EVERY_MS)
      took.push(performance.timeOrigin + performance.now() - sentMs)
    }
    took.sort((a, b) => a - b)
    const share = (part: number) => took[Math.ceil(part * took.length) - 1] as number
    report.info('median', share(0.5), 0, 'ms')
    report.info('p90', share(0.9), 0, 'ms')
    report.limited(`p99 of ${BLOCKS} blocks`, share(0.99), { digits: 0, unit: 'ms', max: P99_MS_MAX })
    report.info('slowest', share(1), 0, 'ms')
  } finally {
    node.kill()
    rmSync(directory, { recursive: true, force: true })
  }
  return report.within
}

/** The time at which the node had sent the next block's receipts, which the program asks for last. */
async function nextBlock(node: ChildProcess, number: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const hear = ({ sent, atMs }: { readonly sent: number; readonly atMs: number }): void => {
    if (sent === number) resolve(atMs)
  }
  node.on('message', hear)
  node.send('next')
  try {
    return await promise
  } finally {
    node.off('message', hear)
  }
}
