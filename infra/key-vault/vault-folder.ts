import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../schemas/errors.ts'
import { lockDirectory } from '../directory-lock.ts'
import { makeFolders } from '../durable-folder.ts'

/** A vault whose program was killed ends by itself, as soon as it has done what it is doing: at most a hundred keys. */
const LOCK_WAIT_MS = 3_000
const LOCK_POLL_MS = 20

export function vaultFileOf(directory: string): string {
  return join(directory, 'vault.db')
}

/** Throws AppError `usage` when it cannot be made. */
export function makeVaultFolder(directory: string): void {
  try {
    makeFolders(directory)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    throw new AppError(
      'usage',
      `The key vault's folder ${directory} cannot be made (${cause.code}): see to the owner and rights of the folder above.`,
      { cause },
    )
  }
}

/** It stays this process's until it ends. Throws AppError `usage`, retryable, when another has it. */
export async function lockVaultFolder(directory: string): Promise<Disposable> {
  const lastTryMs = Date.now() + LOCK_WAIT_MS
  for (;;) {
    try {
      return lockDirectory(directory, 'The key vault in this folder', process.ppid)
    } catch (error) {
      if (!(error instanceof AppError && error.retryable) || Date.now() > lastTryMs) throw error
    }
    await delay(LOCK_POLL_MS)
  }
}
