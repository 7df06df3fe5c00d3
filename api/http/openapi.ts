import { writeFile } from 'node:fs/promises'
import { pino } from 'pino'
import { AppError } from '../../schemas/errors.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { buildApp } from './app.ts'

/** The OpenAPI 3.1 document of every route: what `GET /openapi.json` answers, without listening. */
export async function buildOpenApi(): Promise<object> {
  const unasked = () => Promise.reject(new AppError('usage', 'The API was built for its document alone.'))
  const app = await buildApp({
    warehouse: { query: unasked, queryWords: unasked },
    jobs: { add: unasked, result: unasked, withdraw: unasked, request: unasked, pending: unasked },
    unfundedRules: DEFAULT_UNFUNDED_RULES,
    chains: () => [],
    log: pino({ level: 'silent' }),
    now: () => 0,
    wallNow: () => 0,
    health: unasked,
    accountsKnown: unasked,
    tablesWhole: unasked,
  })
  try {
    return app.swagger()
  } finally {
    await app.close()
  }
}

// Rewrites the committed document: `npm run openapi`.
if (import.meta.main) {
  const document = await buildOpenApi()
  await writeFile(new URL('../../openapi.json', import.meta.url), `${JSON.stringify(document, null, 2)}\n`)
}
