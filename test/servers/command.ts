import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export type CommandResult =
  | { readonly status: 'done'; readonly output: string }
  | { readonly status: 'failed'; readonly output: string }
  | { readonly status: 'not installed' }

/** Runs a command to its end; `output` holds what it wrote to both streams. */
export async function runCommand(command: string, args: readonly string[]): Promise<CommandResult> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  try {
    const [exitCode] = await once(child, 'close')
    return { status: exitCode === 0 ? 'done' : 'failed', output: (await output).join('') }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { status: 'not installed' }
    throw error
  }
}
