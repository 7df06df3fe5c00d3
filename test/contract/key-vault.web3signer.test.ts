import { expect, onTestFinished, test } from 'vitest'
import { type LocalVault, openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import type { ExitTerms, ExitToSign } from '../../infra/ports/key-vault.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { FakeWeb3Signer, type Misbehaviour } from '../web3signer/fake-web3signer.ts'
import { type KeyVaultPlace, keyVaultContract, pubkeysOf, requestOf, TERMS } from './key-vault.ts'
import { keyVaultExits } from './key-vault-exits.ts'
import { makeVaultFolder, newVaultFolder, openIn, removeVaultFolder, type VaultFolder } from './key-vault-local.ts'

/** Whatever a test does: what is asked and what is answered are the API's. */
async function startSigner(): Promise<FakeWeb3Signer> {
  const signer = await FakeWeb3Signer.start()
  onTestFinished(async () => {
    await signer[Symbol.asyncDispose]()
    expect(signer.faults).toEqual([])
  })
  return signer
}

async function newPlace(): Promise<KeyVaultPlace> {
  const folder = await makeVaultFolder()
  const signer = await FakeWeb3Signer.start()
  return {
    open: (more) => openLocalKeyVault({ ...folder.options, ...more, web3signerUrl: signer.url }),
    async [Symbol.asyncDispose]() {
      await signer[Symbol.asyncDispose]()
      await removeVaultFolder(folder)
      expect(signer.faults).toEqual([])
    },
  }
}

keyVaultContract('web3signer', newPlace)
keyVaultExits('web3signer', newPlace)

const EXIT_TERMS: ExitTerms = {
  chain: TERMS.chain,
  capellaForkVersion: Uint8Array.of(3, 0, 0, 0),
  genesisValidatorsRoot: new Uint8Array(32).fill(0x4b),
}

async function openWith(folder: VaultFolder, web3signerUrl: string): Promise<LocalVault> {
  const vault = await openLocalKeyVault({ ...folder.options, web3signerUrl })
  onTestFinished(() => vault[Symbol.asyncDispose]())
  return vault
}

async function commit(vault: LocalVault, count: number, requestId = 'r'): Promise<readonly string[]> {
  const prepared = await vault.prepare(count, TERMS)
  await vault.commit(prepared.id, requestId, requestOf('acme'))
  return pubkeysOf(prepared)
}

const exitsOf = (pubkeys: readonly string[]): readonly ExitToSign[] =>
  pubkeys.map((pubkey, i) => ({ pubkey, epoch: 256 + i, validatorIndex: 1_000 + i }))

test('has the keys before they are kept, asks only what the API has, and signs as the vault itself does', async () => {
  const [folder, signer] = [await newVaultFolder(), await startSigner()]
  let remote: readonly Uint8Array[]
  let pubkeys: readonly string[]
  {
    await using vault = await openLocalKeyVault({ ...folder.options, web3signerUrl: signer.url })
    pubkeys = await commit(vault, 3)
    expect([...signer.keys.keys()].toSorted()).toEqual([...pubkeys].toSorted())
    remote = await vault.signExits(exitsOf(pubkeys), EXIT_TERMS)
    expect(await vault.exportedBefore(pubkeys)).toEqual(pubkeys)
    await vault.check()
  }
  const local = await openIn(folder)
  expect(remote.map(hexOf)).toEqual((await local.signExits(exitsOf(pubkeys), EXIT_TERMS)).map(hexOf))
  const [first] = signer.asked.filter(({ path }) => path.includes('/sign/'))
  expect(JSON.parse(first?.body ?? '')).toEqual({
    type: 'VOLUNTARY_EXIT',
    fork_info: {
      fork: { previous_version: '0x03000000', current_version: '0x03000000', epoch: '0' },
      genesis_validators_root: `0x${'4b'.repeat(32)}`,
    },
    signingRoot: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    voluntary_exit: { epoch: '256', validator_index: '1000' },
  })
})

test('is given a key that it lacks when an exit has to be signed', async () => {
  const [folder, signer] = [await newVaultFolder(), await startSigner()]
  let pubkeys: readonly string[]
  {
    await using local = await openLocalKeyVault(folder.options)
    pubkeys = await commit(local, 1)
  }
  const vault = await openWith(folder, signer.url)
  expect(await vault.signExits(exitsOf(pubkeys), EXIT_TERMS)).toHaveLength(1)
  expect([...signer.keys.keys()]).toEqual(pubkeys)
  signer.misbehaviour = { signing: 'text' }
  expect(await vault.signExits(exitsOf(pubkeys), EXIT_TERMS)).toHaveLength(1)
})

test('keeps nothing of a request whose keys it does not take, and says why without a secret', async () => {
  const [folder, signer] = [await newVaultFolder(), await startSigner()]
  const vault = await openWith(folder, signer.url.replace('//', '//operator:hunter2@'))
  const wrong: readonly [Misbehaviour, RegExp][] = [
    [{ importing: 'error' }, /^Web3Signer: it did not take 2 of 2 keystores\.$/],
    [{ importing: 'short' }, /something else/],
    [{ importing: 401 }, /status 401/],
    [{ importing: 500 }, /status 500/],
  ]
  for (const [misbehaviour, message] of wrong) {
    signer.misbehaviour = misbehaviour
    const failure = { code: 'key_vault', retryable: true, message: expect.stringMatching(message) }
    await expect(commit(vault, 2)).rejects.toMatchObject(failure)
    expect(await vault.request('acme', 'r')).toBeUndefined()
  }
  signer.misbehaviour = {}
  expect(await vault.lacking(await commit(vault, 2))).toEqual([])
  const basic = `Basic ${Buffer.from('operator:hunter2').toString('base64')}`
  expect(new Set(signer.asked.map(({ authorization }) => authorization))).toEqual(new Set([basic]))
})

test('hands out no signature that does not hold', async () => {
  const [folder, signer] = [await newVaultFolder(), await startSigner()]
  const vault = await openWith(folder, signer.url)
  const exits = exitsOf(await commit(vault, 1))
  const wrong: readonly [Misbehaviour, RegExp][] = [
    [{ signing: 'other key' }, /does not hold/],
    [{ signing: 'garbage' }, /something else than a signature/],
    [{ signing: 412 }, /status 412/],
    [{ signing: 500 }, /status 500/],
    [{ signing: 404 }, /does not sign with it/],
  ]
  for (const [misbehaviour, message] of wrong) {
    signer.misbehaviour = misbehaviour
    const failure = { code: 'key_vault', message: expect.stringMatching(message) }
    await expect(vault.signExits(exits, EXIT_TERMS)).rejects.toMatchObject(failure)
  }
})

test('that is away makes the vault away, without its address', async () => {
  const folder = await newVaultFolder()
  const signer = await FakeWeb3Signer.start()
  const { url } = signer
  const vault = await openWith(folder, url)
  await vault.check()
  await signer[Symbol.asyncDispose]()
  const away = { code: 'key_vault', retryable: true, message: 'Web3Signer: it cannot be reached.' }
  await expect(vault.check()).rejects.toMatchObject(away)
  await expect(commit(vault, 1)).rejects.toMatchObject(away)
  expect(vault.state()).toMatchObject({ state: 'away', fault: away.message })
})
