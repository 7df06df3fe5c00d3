import { readFile } from 'node:fs/promises'
import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { buildOpenApi } from '../../api/http/openapi-document.ts'
import { OPERATIONS } from '../../api/operations.ts'
import { PREFIX } from '../../schemas/routes/route.ts'

test('the committed document is the one that the routes define: run `npm run openapi` after a change', async () => {
  const committed: unknown = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'))
  expect(JSON.parse(JSON.stringify(buildOpenApi()))).toEqual(committed)
})

test('documents every path of every route with a distinct operation id', () => {
  const paths = buildOpenApi().paths as Record<string, Record<string, { operationId: string }>>
  for (const { route } of OPERATIONS) {
    for (const path of route.paths) expect(paths[`${PREFIX}${path}`], path).toHaveProperty(route.method.toLowerCase())
  }
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map((method) => method.operationId))
  expect(new Set(ids).size).toBe(ids.length)
})

test('asks for nothing that has a default', () => {
  const paths = buildOpenApi().paths as Record<
    string,
    Record<string, { parameters?: { in: string; required: boolean }[] }>
  >
  const parameters = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap((m) => m.parameters ?? []),
  )
  expect(parameters.filter((parameter) => parameter.in === 'query' && parameter.required)).toEqual([])
})

test('every example has the shape of its route', () => {
  for (const { route } of OPERATIONS) expect(Compile(route.response).Errors(route.example), route.id).toEqual([])
})
