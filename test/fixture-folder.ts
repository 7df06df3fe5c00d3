import { join } from 'node:path'

/**
 * The folder of the fixtures that are no part of this repository, vectors of the standards and mainnet's blocks: what EPOCHLINE_FIXTURES
 * names. Undefined without it: tests that need them are skipped then. Throws with CI=true: where all tests are expected, one that is
 * missing must not look like success.
 */
export function fixtureFolderOf({ EPOCHLINE_FIXTURES: folder, CI }: NodeJS.ProcessEnv): string | undefined {
  if (folder !== undefined && folder !== '') return folder
  if (CI === 'true')
    throw new Error('EPOCHLINE_FIXTURES is not set, and CI=true wants every test: have it name the fixtures')
  return undefined
}

const FOLDER = fixtureFolderOf(process.env)
export const HAS_FIXTURES = FOLDER !== undefined

/** The path of a fixture by its path in their folder. Throws where there are none. */
export function fixturePath(...names: readonly string[]): string {
  if (FOLDER === undefined) throw new Error('EPOCHLINE_FIXTURES is not set')
  return join(FOLDER, ...names)
}
