import { pino } from 'pino'
import { expect, test } from 'vitest'
import { FAMILIES, type Family } from '../../api/families.ts'
import { buildApp } from '../../api/http/app.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { noJobs } from './no-jobs.ts'
import { noWords } from './no-words.ts'

const unasked = () => Promise.reject(new Error('not asked'))
const parts = {
  warehouse: { query: unasked, ...noWords },
  jobs: noJobs,
  unfundedRules: DEFAULT_UNFUNDED_RULES,
  chains: () => [],
  log: pino({ level: 'silent' }),
  now: () => 0,
  wallNow: () => 0,
  health: unasked,
  accountsKnown: unasked,
  tablesWhole: unasked,
}

/** Takes bodies as streams, sees what the caller said of them, and has error bodies of its own. */
const streaming: Family = async (app) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.setErrorHandler((_error, _request, reply) => reply.status(502).send({ error: 'upstream' }))
  app.post('/stream', async (request) => ({
    type: request.headers['content-type'],
    isStream: typeof (request.body as { pipe?: unknown }).pipe === 'function',
  }))
  app.get('/failing', () => Promise.reject(new Error('upstream')))
}

test('a family keeps its bodies, their types and its errors, whatever other families need', async () => {
  const app = await buildApp(parts, [...FAMILIES, streaming])
  try {
    const headers = { 'content-type': 'application/x-ndjson' }
    const streamed = await app.inject({ method: 'POST', url: '/stream', headers, payload: '{"broken' })
    expect(streamed.json()).toEqual({ type: 'application/x-ndjson', isStream: true })
    const failed = await app.inject('/failing')
    expect(failed.statusCode).toBe(502)
    expect(failed.json()).toEqual({ error: 'upstream' })
  } finally {
    await app.close()
  }
})
