import { AppError } from '../../schemas/errors.ts'
import type { FromVault, RestoreOptions, ToVault, VaultOptions } from './messages.ts'
import { restoreVault } from './restore-vault.ts'
import { openVault, type Vault } from './vault.ts'

// The process that ./vault-connection.ts starts: nobody else knows a secret, and it ends with the channel to who started it.

/** What it makes on the disk is its owner's alone. */
process.umask(0o077)
process.on('disconnect', () => void end())
// These may reach all processes of a service. The program may still have to commit what it was asked for; it ends us.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('uncaughtException', (error) => {
  process.stderr.write(`key vault: ${traceOf(error)}\n`)
  process.exit(1)
})

let vault: Promise<Vault> | undefined

process.on('message', (message: ToVault) => void hear(message))

/** Closing leaves one file, with nothing beside it that a copy could forget. */
async function end(): Promise<void> {
  await vault?.then(
    (open) => open[Symbol.dispose](),
    () => {}, // who asked to open it was told
  )
  process.exit()
}

async function hear({ id, method, args }: ToVault): Promise<void> {
  try {
    tell({ kind: 'answer', id, value: await ask(method, args) })
  } catch (error) {
    if (error instanceof AppError) {
      const { code, message, retryable } = error
      tell({ kind: 'fault', id, code, message, retryable })
    } else {
      tell({ kind: 'defect', id, trace: traceOf(error) }, () => process.exit(1))
    }
  }
}

async function ask(method: ToVault['method'], args: readonly unknown[]): Promise<unknown> {
  if (method === 'open') {
    vault = openVault(args[0] as VaultOptions)
    await vault
    return undefined
  }
  if (method === 'restore') return await restoreVault(args[0] as RestoreOptions)
  if (vault === undefined) throw new Error('asked before it was opened')
  const open = await vault
  // The arguments came from a method of the same name.
  const asked = open[method] as (...values: readonly unknown[]) => unknown
  return asked.apply(open, [...args])
}

/** Who asked may be gone: then there is nobody to tell, and `disconnect` ends this process. */
function tell(message: FromVault, then: () => void = () => {}): void {
  process.send?.(message, undefined, undefined, then)
}

/** Class and places of an error, without its message: Node quotes there what it was given. */
function traceOf(error: unknown): string {
  if (!(error instanceof Error)) return 'something that is no error was thrown'
  const places = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [error.constructor.name, ...places].join('\n')
}
