import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { claimIdentity } from '../../infra/devnet/identity.ts'

it('a folder of another chain is refused with the setting that makes it another, where one does', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-identity-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'devnet.json')
  const own = { seed: 'one', metadataUrl: 'http://127.0.0.1:8547', scenarioVersion: 'any-1' }
  claimIdentity(file, own)
  claimIdentity(file, own)
  const begins = "The devnet's directory holds another chain: its "
  expect(() => claimIdentity(file, { ...own, metadataUrl: 'http://127.0.0.1:18547' })).toThrow(
    `${begins}metadataUrl is http://127.0.0.1:8547, asked for by DEVNET_METADATA_PORT is http://127.0.0.1:18547. Use`,
  )
  expect(() => claimIdentity(file, { ...own, seed: 'two' })).toThrow(
    `${begins}seed is one, asked for by DEVNET_SEED is two.`,
  )
  expect(() => claimIdentity(file, { ...own, scenarioVersion: 'any-2' })).toThrow('any-1, asked for is any-2.')
})
