import { DOMAIN_VOLUNTARY_EXIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ExitTerms, ExitToSign, KeyVault } from '../../infra/ports/key-vault.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { type KeyVaultPlace, pubkeysOf, requestOf, sharedVault, TERMS } from './key-vault.ts'

const EXIT_TERMS: ExitTerms = {
  chain: TERMS.chain,
  capellaForkVersion: Uint8Array.of(0x40, 0, 0x09, 0x10),
  genesisValidatorsRoot: new Uint8Array(32).fill(0x17),
}
/** eth2 ciphersuite of the consensus specification. */
const DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_'
const STRANGER = `0x${'ab'.repeat(48)}`

/** What all key vaults must do with exits. */
export function keyVaultExits(name: string, newPlace: () => Promise<KeyVaultPlace>): void {
  async function openPlace(): Promise<KeyVaultPlace> {
    const place = await newPlace()
    onTestFinished(() => place[Symbol.asyncDispose]())
    return place
  }

  describe(`key vault contract, exits: ${name}`, () => {
    const refusing = sharedVault(newPlace)

    test('signs exits that another library verifies, the same each time, with keys of every seed', async () => {
      const place = await openPlace()
      const pubkeys = [...(await commitIn(place, 'first', 2)), ...(await commitIn(place, 'second', 1))]
      await using vault = await place.open()
      pubkeys.push(...(await commit(vault, 'third', 2)))
      const exits = pubkeys.map((pubkey, i): ExitToSign => ({ pubkey, epoch: 1_000 + i, validatorIndex: 7 * i }))
      const signatures = await vault.signExits(exits, EXIT_TERMS)
      expect(signatures).toHaveLength(exits.length)
      for (const [i, exit] of exits.entries()) expect(holds(exit, signatures[i] as Uint8Array)).toBe(true)
      const again = await vault.signExits(exits.toReversed(), EXIT_TERMS)
      expect(again.toReversed().map(hexOf)).toEqual(signatures.map(hexOf))
      expect(holds({ ...(exits[0] as ExitToSign), epoch: 1 }, signatures[0] as Uint8Array)).toBe(false)
    })

    test('signs none of a list where it lacks one key, or has it for another chain', async () => {
      await using vault = await (await openPlace()).open()
      const [pubkey = ''] = await commit(vault, 'r', 1)
      const { id } = await vault.prepare(1, { ...TERMS, chain: 'hoodi' })
      await vault.commit(id, 'other', requestOf('acme'))
      const exit = { pubkey, epoch: 1, validatorIndex: 1 }
      await expect(vault.signExits([exit, { ...exit, pubkey: STRANGER }], EXIT_TERMS)).rejects.toMatchObject({
        code: 'key_vault',
        retryable: false,
        message: expect.stringContaining(STRANGER),
      })
      await expect(vault.signExits([exit], { ...EXIT_TERMS, chain: 'hoodi' })).rejects.toMatchObject({
        code: 'key_vault',
        message: expect.stringMatching(`for ${TERMS.chain}, not for hoodi`),
      })
      expect(await vault.signExits([exit], EXIT_TERMS)).toHaveLength(1)
    })

    test.each<[string, readonly Partial<ExitToSign>[], Partial<ExitTerms>]>([
      ['no exit', [], {}],
      ['too many', Array.from({ length: 101 }, () => ({})), {}],
      ['an epoch below 0', [{ epoch: -1 }], {}],
      ['an index that is no number', [{ validatorIndex: Number.NaN }], {}],
      ['a fork version of 3 bytes', [{}], { capellaForkVersion: new Uint8Array(3) }],
      ['a root of 20 bytes', [{}], { genesisValidatorsRoot: new Uint8Array(20) }],
    ])('refuses %s, and keeps what others have prepared', async (what, wrong, terms) => {
      const vault = refusing()
      const [pubkey = ''] = await commit(vault, `before ${what}`, 1)
      const { id } = await vault.prepare(1, TERMS)
      const exits = wrong.map((one) => ({ pubkey, epoch: 1, validatorIndex: 1, ...one }))
      await expect(vault.signExits(exits, { ...EXIT_TERMS, ...terms })).rejects.toThrow(RangeError)
      expect(await vault.commit(id, `after ${what}`, requestOf('acme'))).toEqual(requestOf('acme'))
    })
  })
}

async function commitIn(place: KeyVaultPlace, requestId: string, count: number): Promise<readonly string[]> {
  await using vault = await place.open()
  return await commit(vault, requestId, count)
}

async function commit(vault: KeyVault, requestId: string, count: number): Promise<readonly string[]> {
  const prepared = await vault.prepare(count, TERMS)
  await vault.commit(prepared.id, requestId, requestOf('acme'))
  return pubkeysOf(prepared)
}

function holds({ pubkey, epoch, validatorIndex }: ExitToSign, signature: Uint8Array): boolean {
  const { capellaForkVersion, genesisValidatorsRoot } = EXIT_TERMS
  const domain = computeDomain(DOMAIN_VOLUNTARY_EXIT, capellaForkVersion, genesisValidatorsRoot)
  const root = computeSigningRoot(ssz.phase0.VoluntaryExit, { epoch, validatorIndex }, domain)
  const { longSignatures } = bls12_381
  return longSignatures.verify(signature, longSignatures.hash(root, DST), bytesOf(pubkey))
}
