import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Makes a folder with those above it, for their owner alone, so that they are still there after a power cut. */
export function makeFolders(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  // A new name is on the disk when the folder that it stands in is.
  const above = dirname(resolve(first))
  for (let made = resolve(folder); made !== above; made = dirname(made)) syncFolder(dirname(made))
}

/** Waits until the names in a folder are on the disk. */
export function syncFolder(folder: string): void {
  sync(folder, 'r')
}

/** Waits until what was written to a file is on the disk. */
export function syncFile(file: string): void {
  sync(file, 'r+')
}

function sync(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
