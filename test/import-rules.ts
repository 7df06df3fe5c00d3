import { dirname, join } from 'node:path/posix'

// Who may import whom, as ARCHITECTURE.md says it; test/check-imports.ts holds every file to it. It stands here and not in
// biome.json because there an override replaces the options of a rule: every folder had to repeat the rules of all others.
//
// In both tables a folder stands for all that is in it, and `folder/*` for the files right in it.

/** What every adapter and every room may import besides what its line names. */
const ADAPTER = ['schemas', 'infra/ports', 'infra/*'] as const
const ROOM = ['schemas', 'infra/ports'] as const
const API_FAMILY = [...ROOM, 'api/http', 'api/*'] as const

/** Who may import what besides itself. Of the lines that fit a file the longest counts. Nobody but tests imports tests. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  schemas: [],
  'infra/ports': ['schemas'],
  infra: ['schemas', 'infra'],
  'infra/event-log': ADAPTER,
  'infra/warehouse': ADAPTER,
  'infra/job-queue': ADAPTER,
  'infra/counters': ADAPTER,
  'infra/mail': ADAPTER,
  'infra/key-vault': ADAPTER,
  'infra/guarded-fetch': ADAPTER,
  'infra/upstreams': ADAPTER,
  'infra/nodes': ADAPTER,
  'infra/beacon': [...ADAPTER, 'infra/nodes'],
  'infra/execution': [...ADAPTER, 'infra/nodes', 'infra/beacon'],
  'infra/devnet': [...ADAPTER, 'infra/key-vault/keystore.ts', 'infra/key-vault/password.ts'],
  ingest: ROOM,
  processors: [...ROOM, 'processors/*', 'processors/loop', 'processors/rewards', 'processors/settlements'],
  'processors/*': [...ROOM, 'processors'],
  api: API_FAMILY,
  'api/*': [...ROOM, 'api'],
  'api/http': [...ROOM, 'api'],
  'api/graphql': [...ROOM, 'api'],
  'api/rewards': [...API_FAMILY, 'api/validators/validator-status.ts'],
  // What an address has is what the account has that quotes are made for.
  'api/quotes': [
    ...API_FAMILY,
    'api/rewards/horizon.ts',
    ...['account-validators.ts', 'created-validators.ts', 'lifecycle.ts', 'validator-status.ts'].map(
      (file) => `api/validators/${file}`,
    ),
  ],
  'api/validators': [...API_FAMILY, 'api/rewards/horizon.ts'],
  commands: ['schemas', 'infra', 'infra/open-ports.ts', 'infra/devnet', 'ingest', 'processors', 'api'],
  'main.ts': ['schemas', 'infra', 'commands', 'package.json'],
}

/** In these rooms every folder is a family, which is closed to the other families of its room. */
const ROOMS_OF_FAMILIES: readonly string[] = ['processors', 'api']

/** Are no part of the folder that they lie in: only who names them may import them. */
const SEALED = ['infra/devnet', 'infra/open-ports.ts'] as const

/** These import `infra/ports` as types only: what stands behind a port is not theirs to know. */
const ROOMS: readonly string[] = ['ingest', 'processors', 'api']

/** Where a package lives. Of the lines that fit a package the longest counts; a package without a line may be used anywhere. */
const LIVES_IN: Readonly<Record<string, readonly string[]>> = {
  kafkajs: ['infra/event-log'],
  bullmq: ['infra/job-queue'],
  ioredis: ['infra/job-queue', 'infra/counters'],
  '@clickhouse/client': ['infra/warehouse'],
  chdb: ['infra/warehouse'],
  // It holds secret keys in the first two; the reader of states only verifies with it.
  '@chainsafe/blst': ['infra/key-vault', 'infra/devnet', 'infra/beacon/deposit-signature.ts'],
  '@lodestar': ['infra/beacon', 'infra/devnet'],
  '@lodestar/state-transition': ['infra/devnet'],
  'graphql-yoga': ['api/graphql'],
  '@graphql-yoga': ['api/graphql'],
  '@fastify': ['api/http'],
  dataloader: ['api/graphql'],
  'lru-cache': ['api/http', 'api/gateway'],
  nodemailer: ['infra/mail'],
  ws: ['infra/devnet', 'infra/upstreams', 'api/gateway'],
  yaml: ['infra/config'],
  'hash-wasm': ['schemas/eth'],
  'tiny-secp256k1': ['schemas/eth'],
}

/** Schemas are pure: of Node they use what only computes, and time's passing, for the one way to wait that all rooms share. */
const PURE_OF_NODE: readonly string[] = ['node:crypto', 'node:zlib', 'node:timers/promises']
/** One file of them asks whether Node hands out a memory in slices. */
const ASKS_OF_MEMORY = { file: 'schemas/memory.ts', source: 'node:worker_threads' }

export interface Import {
  /** As it is written: a package, or a path relative to the file. */
  readonly source: string
  /** Nothing of it is left when the program runs. */
  readonly typeOnly: boolean
}

/** Why the file may not import this, as a sentence; undefined if it may. Paths are relative to the project, with slashes. */
export function importFault(file: string, { source, typeOnly }: Import): string | undefined {
  if (within(file, 'test')) return undefined
  if (!source.startsWith('.')) return packageFault(file, source)
  const target = join(dirname(file), source)
  const rule = longest(Object.keys(MAY_IMPORT), (folder) => within(file, folder))
  if (rule === undefined) return `${file} is in no folder that test/import-rules.ts knows`
  const allowed = [ownFolder(file, rule), ...(MAY_IMPORT[rule] ?? [])]
  if (!allowed.some((folder) => opens(folder, target))) return `${rule} may not import ${target}`
  if (ROOMS.some((room) => within(file, room)) && within(target, 'infra/ports') && !typeOnly)
    return `${rule} imports ${target} as types only`
  return undefined
}

function packageFault(file: string, source: string): string | undefined {
  if (source.startsWith('node:')) {
    if (file === ASKS_OF_MEMORY.file && source === ASKS_OF_MEMORY.source) return undefined
    const impure = within(file, 'schemas') && !PURE_OF_NODE.includes(source)
    return impure ? `schemas are pure and may not import ${source}` : undefined
  }
  const name = longest(Object.keys(LIVES_IN), (line) => within(source, line))
  const homes = name === undefined ? undefined : LIVES_IN[name]
  if (homes === undefined || homes.some((home) => within(file, home))) return undefined
  return `${name} lives in ${homes.join(' and ')} only`
}

/** What the file may import without being named: its family where there are families, otherwise all that its rule covers. */
function ownFolder(file: string, rule: string): string {
  const [room = '', family = ''] = file.split('/')
  return ROOMS_OF_FAMILIES.includes(room) ? `${room}/${family}` : rule
}

function opens(allowed: string, target: string): boolean {
  const seal = SEALED.find((sealed) => within(target, sealed))
  return within(target, allowed) && (seal === undefined || within(allowed, seal))
}

function within(path: string, folder: string): boolean {
  if (folder.endsWith('/*')) return dirname(path) === folder.slice(0, -'/*'.length)
  return path === folder || path.startsWith(`${folder}/`)
}

function longest(candidates: readonly string[], fits: (candidate: string) => boolean): string | undefined {
  return candidates.filter(fits).toSorted((a, b) => b.length - a.length)[0]
}

/** `import … from '…'` and `export … from '…'` at the start of a line, as the formatter writes them. */
const FROM = /^(?:import|export)\s+([^'"`;]*?)\s*\bfrom\s+'([^']+)'/gm
/** `import '…'` for its effects, and `import('…')`. */
const WHOLE = /^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm

export function readImports(text: string): readonly Import[] {
  const named = [...text.matchAll(FROM)].map(([, names = '', source = '']) => ({ source, typeOnly: isTypeOnly(names) }))
  const whole = [...text.matchAll(WHOLE)].map(([, effects, called]) => ({
    source: effects ?? called ?? '',
    typeOnly: false,
  }))
  return [...named, ...whole]
}

/** `type …`, or `{ type A, type B }`. */
function isTypeOnly(names: string): boolean {
  if (names.startsWith('type ')) return true
  const inner = /^\{(.*)\}$/s.exec(names.trim())?.[1]
  if (inner === undefined) return false
  return inner
    .split(',')
    .map((name) => name.trim())
    .every((name) => name === '' || name.startsWith('type '))
}
