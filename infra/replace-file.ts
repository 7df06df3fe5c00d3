import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from './durable-folder.ts'

/**
 * Puts the text into the file, on the disk when it returns: the old content or the new one is there, whenever the process or the machine
 * dies, and whatever cannot be written. `mode`: of a file that is new.
 */
export function replaceFile(path: string, text: string, mode?: number): void {
  const draft = `${path}.new`
  try {
    writeFileSync(draft, text, { mode, flush: true })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}
