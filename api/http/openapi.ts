import { writeFile } from 'node:fs/promises'
import { buildOpenApi } from './openapi-document.ts'

/** Rewrites the committed document: `npm run openapi`. */
await writeFile(new URL('../../openapi.json', import.meta.url), `${JSON.stringify(buildOpenApi(), null, 2)}\n`)
