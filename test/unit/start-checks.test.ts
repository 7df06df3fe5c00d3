import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { apiRole } from '../../commands/api-role.ts'
import { ingestRole } from '../../commands/ingest-role.ts'
import type { Role } from '../../commands/role.ts'
import { runRoles } from '../../commands/run-roles.ts'
import { defaultScenario } from '../../infra/devnet/scenario.ts'
import { settingsOfFile } from './setting-of-file.ts'

const settings = settingsOfFile()
const NO_NODES = { BEACON_URL: '', EXECUTION_URL: '' }
/** Ends at once: what is started before it is what counts. */
const other: Role = { name: 'process', needs: [], run: async () => {} }

it('a port that is taken is told before the devnet is started', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const setting = settings({ ...NO_NODES, PORT: String(port), HOST: '127.0.0.1' })
  await expect(runRoles(setting, [{ ...apiRole, needs: [], run: async () => {} }, other])).rejects.toMatchObject({
    code: 'usage',
    message: `Port ${port} is taken: stop the other program, or set PORT, for example 8081.`,
  })
  expect(existsSync(join(setting.config.dataDirectory, 'devnet'))).toBe(false)
  server.close()
})

it('a host that is none of this machine is told before the devnet is started', async () => {
  const setting = settings({ ...NO_NODES, PORT: '0', HOST: '192.0.2.1' })
  await expect(runRoles(setting, [{ ...apiRole, needs: [], run: async () => {} }, other])).rejects.toMatchObject({
    code: 'config',
    message: 'HOST is not an address of this machine: "192.0.2.1"; e.g. HOST=127.0.0.1.',
  })
  expect(existsSync(join(setting.config.dataDirectory, 'devnet'))).toBe(false)
})

it('a devnet folder of another chain is refused before anything is said to be started', async () => {
  const setting = settings({ ...NO_NODES, PORT: '0', DEVNET_SEED: 'two' })
  const directory = join(setting.config.dataDirectory, 'devnet')
  mkdirSync(directory)
  const { secondsPerSlot, metadataPort } = setting.config.devnet ?? {}
  const kept = { scenarioVersion: defaultScenario.version, metadataUrl: `http://127.0.0.1:${metadataPort}` }
  writeFileSync(join(directory, 'devnet.json'), JSON.stringify({ ...kept, seed: 'one', secondsPerSlot }))
  const said: unknown[] = []
  const log = { ...setting.log, info: (_fields: object, message: string) => void said.push(message) }
  await expect(runRoles({ ...setting, log }, [other, other])).rejects.toMatchObject({
    code: 'config',
    message: expect.stringContaining('holds another chain: its seed is one, asked for by DEVNET_SEED is two.'),
  })
  expect(said).toEqual([])
})

it('who ingests alone is told whose the devnet is', async () => {
  await expect(runRoles(settings(NO_NODES), [ingestRole])).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/^The devnet is run and ingested by `epochline all`: .* BEACON_URL=http:/),
  })
})
