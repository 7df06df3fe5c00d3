import { join } from 'node:path'

/** Where the devnet of a data folder keeps itself, and is asked: it may run alone, or as a part of the program. */
export function devnetDirectory(dataDirectory: string): string {
  return join(dataDirectory, 'devnet')
}
