import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importFault, readImports } from './import-rules.ts'

/** Part of `npm run check`: every import of the project, held against test/import-rules.ts. */
const ROOT = join(import.meta.dirname, '..')
const ROOMS = '{schemas,infra,ingest,processors,api,commands}'

const faults: string[] = []
for await (const path of glob([`${ROOMS}/**/*.ts`, 'main.ts'], { cwd: ROOT })) {
  const file = path.replaceAll('\\', '/')
  for (const found of readImports(await readFile(join(ROOT, path), 'utf8'))) {
    const fault = importFault(file, found)
    if (fault !== undefined) faults.push(`${file}: '${found.source}': ${fault}`)
  }
}
for (const fault of faults.toSorted()) process.stderr.write(`${fault}\n`)
if (faults.length > 0) process.exitCode = 1
