import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AnyRoute } from '../../schemas/routes/route.ts'

const ROUTES = join(import.meta.dirname, '../../schemas/routes')

/** Every operation that a file in schemas/routes/ defines, by its id: whether it is served or not. */
export async function everyRoute(): Promise<ReadonlyMap<string, AnyRoute>> {
  const files = readdirSync(ROUTES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const modules = await Promise.all(files.map((file) => import(join(ROUTES, file)) as Promise<Record<string, unknown>>))
  const routes = modules.flatMap((module) => Object.values(module).filter(isRoute))
  return new Map(routes.map((route) => [route.id, route]))
}

function isRoute(value: unknown): value is AnyRoute {
  return typeof value === 'object' && value !== null && 'paths' in value && 'method' in value && 'id' in value
}
