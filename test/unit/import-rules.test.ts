import { describe, expect, test } from 'vitest'
import { importFault, readImports } from '../import-rules.ts'

const value = (source: string) => ({ source, typeOnly: false })
const type = (source: string) => ({ source, typeOnly: true })

describe('an import is a fault when', () => {
  test.each([
    ['schemas/events/codec.ts', '../../infra/sqlite-file.ts', 'schemas may not import infra/sqlite-file.ts'],
    ['schemas/chains.ts', '../ingest/waker.ts', 'schemas may not import ingest/waker.ts'],
    ['schemas/chains.ts', 'node:fs/promises', 'schemas are pure and may not import node:fs/promises'],
    ['infra/ports/log.ts', '../sqlite-file.ts', 'infra/ports may not import infra/sqlite-file.ts'],
    ['infra/sqlite-file.ts', '../ingest/waker.ts', 'infra may not import ingest/waker.ts'],
    ['infra/sqlite-file.ts', './devnet/open.ts', 'infra may not import infra/devnet/open.ts'],
    ['infra/config/read.ts', '../open-ports.ts', 'infra may not import infra/open-ports.ts'],
    ['infra/event-log/kafka.ts', '../job-queue/limits.ts', 'infra/event-log may not import infra/job-queue/limits.ts'],
    ['infra/job-queue/bullmq.ts', '../open-ports.ts', 'infra/job-queue may not import infra/open-ports.ts'],
    ['infra/nodes/nodes.ts', '../beacon/scan.ts', 'infra/nodes may not import infra/beacon/scan.ts'],
    ['infra/beacon/scan.ts', '../devnet/engine.ts', 'infra/beacon may not import infra/devnet/engine.ts'],
    ['infra/devnet/open.ts', '../event-log/sqlite.ts', 'infra/devnet may not import infra/event-log/sqlite.ts'],
    ['infra/devnet/beacon-api/a.ts', '../../beacon/scan.ts', 'infra/devnet may not import infra/beacon/scan.ts'],
    ['infra/devnet/open.ts', '../open-ports.ts', 'infra/devnet may not import infra/open-ports.ts'],
    ['infra/devnet/open.ts', '../../api/http/server.ts', 'infra/devnet may not import api/http/server.ts'],
    ['ingest/waker.ts', '../processors/loop/rows.ts', 'ingest may not import processors/loop/rows.ts'],
    ['ingest/epochs/spec.ts', '../../infra/nodes/nodes.ts', 'ingest may not import infra/nodes/nodes.ts'],
    ['ingest/waker.ts', '../infra/sqlite-file.ts', 'ingest may not import infra/sqlite-file.ts'],
    ['ingest/epochs/spec.ts', '../../infra/devnet/open.ts', 'ingest may not import infra/devnet/open.ts'],
    ['ingest/waker.ts', '../infra/ports/log.ts', 'ingest imports infra/ports/log.ts as types only'],
    ['processors/projections.ts', '../api/operations.ts', 'processors/* may not import api/operations.ts'],
    ['processors/nft/owners.ts', '../usage/days.ts', 'processors may not import processors/usage/days.ts'],
    ['processors/head/a.ts', '../../infra/warehouse/open.ts', 'processors may not import infra/warehouse/open.ts'],
    ['processors/head/a.ts', '../../infra/ports/log.ts', 'processors imports infra/ports/log.ts as types only'],
    ['api/quote/prices.ts', '../nft/owners.ts', 'api may not import api/nft/owners.ts'],
    ['api/quote/prices.ts', '../graphql/serve.ts', 'api may not import api/graphql/serve.ts'],
    [
      'api/rewards/a.ts',
      '../validators/list-validators.ts',
      'api/rewards may not import api/validators/list-validators.ts',
    ],
    ['api/http/server.ts', '../../processors/projections.ts', 'api/http may not import processors/projections.ts'],
    ['api/http/server.ts', '../../infra/open-ports.ts', 'api/http may not import infra/open-ports.ts'],
    ['api/http/server.ts', '../../infra/ports/log.ts', 'api/http imports infra/ports/log.ts as types only'],
    ['commands/roles.ts', '../test/unit/silent-log.ts', 'commands may not import test/unit/silent-log.ts'],
    ['commands/roles.ts', '../main.ts', 'commands may not import main.ts'],
    ['main.ts', './infra/open-ports.ts', 'main.ts may not import infra/open-ports.ts'],
    ['main.ts', './ingest/waker.ts', 'main.ts may not import ingest/waker.ts'],
    ['tools/new.ts', '../schemas/chains.ts', 'tools/new.ts is in no folder that test/import-rules.ts knows'],
  ])('%s imports %s', (file, source, fault) => {
    expect(importFault(file, value(source))).toBe(fault)
  })

  test.each([
    ['infra/job-queue/bullmq.ts', 'kafkajs', 'kafkajs lives in infra/event-log only'],
    ['infra/counters/redis.ts', 'bullmq', 'bullmq lives in infra/job-queue only'],
    ['infra/event-log/kafka.ts', 'ioredis', 'ioredis lives in infra/job-queue and infra/counters only'],
    ['processors/loop/rows.ts', '@clickhouse/client', '@clickhouse/client lives in infra/warehouse only'],
    ['infra/sqlite-file.ts', 'chdb/connection', 'chdb lives in infra/warehouse only'],
    ['infra/execution/block.ts', '@lodestar/types', '@lodestar lives in infra/beacon and infra/devnet only'],
    [
      'infra/beacon/block.ts',
      '@lodestar/state-transition/block',
      '@lodestar/state-transition lives in infra/devnet only',
    ],
    ['api/http/server.ts', 'graphql-yoga', 'graphql-yoga lives in api/graphql only'],
    ['api/rewards/a.ts', 'dataloader', 'dataloader lives in api/graphql only'],
  ])('%s imports the package %s', (file, source, fault) => {
    expect(importFault(file, type(source))).toBe(fault)
  })
})

describe('an import is none when', () => {
  test.each([
    ['schemas/events/codec.ts', value('../errors.ts')],
    ['schemas/events/codec.ts', value('node:zlib')],
    ['infra/job-queue/bullmq.ts', value('../redis-errors.ts')],
    ['infra/execution/source.ts', value('../nodes/nodes.ts')],
    ['infra/open-ports.ts', value('./warehouse/open.ts')],
    ['infra/devnet/consensus/chain.ts', value('../execution/chain.ts')],
    ['infra/devnet/consensus/chain.ts', value('@lodestar/state-transition')],
    ['ingest/epochs/spec.ts', type('../../infra/ports/beacon-source.ts')],
    ['ingest/epochs/spec.ts', value('../beacon-head/head-log.ts')],
    ['processors/head/head-blocks.ts', value('../loop/rows.ts')],
    ['api/quote/prices.ts', value('../http/operation.ts')],
    ['api/quote/prices.ts', value('./select-prices.ts')],
    ['api/graphql/resolvers.ts', value('../rewards/account-days.ts')],
    ['commands/roles.ts', value('../infra/open-ports.ts')],
    ['commands/roles.ts', value('../infra/devnet/run.ts')],
    ['main.ts', value('./commands/roles.ts')],
    ['main.ts', value('./package.json')],
    ['test/unit/any.test.ts', value('../../infra/devnet/open.ts')],
    ['test/unit/any.test.ts', value('kafkajs')],
  ])('%s has %o', (file, found) => {
    expect(importFault(file, found)).toBeUndefined()
  })
})

test('reads every form of import, and which are types only', () => {
  const text = [
    `import { Redis } from 'ioredis'`,
    `import type { Log } from '../ports/log.ts'`,
    `import {\n  type A,\n  type B,\n} from './types.ts'`,
    `import whole, { type C } from './mixed.ts'`,
    `import * as all from './all.ts'`,
    `export { again } from './again.ts'`,
    `export type * from './again-types.ts'`,
    `import './effects.ts'`,
    `const late = await import('./late.ts')`,
    `type Late = typeof import('./late-type.ts')`,
    `const data = from('not an import')`,
    `// import { a } from './comment.ts'`,
  ].join('\n')
  expect(readImports(text).toSorted((a, b) => a.source.localeCompare(b.source))).toEqual([
    type('../ports/log.ts'),
    type('./again-types.ts'),
    value('./again.ts'),
    value('./all.ts'),
    value('./effects.ts'),
    value('./late-type.ts'),
    value('./late.ts'),
    value('./mixed.ts'),
    type('./types.ts'),
    value('ioredis'),
  ])
})
