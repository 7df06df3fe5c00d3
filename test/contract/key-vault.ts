import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { DepositTerms, KeptRequest, KeyVault, PreparedKeys } from '../../infra/ports/key-vault.ts'
import { hexOf } from '../../schemas/eth/hex.ts'

/** A place for one vault, empty at first. Every `open` is the same vault, opened again; it is closed before the next one. */
export interface KeyVaultPlace extends AsyncDisposable {
  open(options?: { readonly preparedKeysMax?: number }): Promise<KeyVault>
}

export const TERMS: DepositTerms = {
  chain: 'ethereum',
  genesisForkVersion: Uint8Array.of(0x10, 0x00, 0x09, 0x10),
  withdrawalCredentials: new Uint8Array(32).fill(0xaa).fill(0, 1, 12).fill(1, 0, 1),
  amountGwei: 32_000_000_000n,
}
export const FORGOTTEN = expect.objectContaining({
  code: 'key_vault',
  retryable: true,
  message: expect.stringMatching(/no longer prepared/),
})

/** eth2 ciphersuite of the consensus specification. */
const DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_'
const DOMAIN_DEPOSIT = Uint8Array.of(3, 0, 0, 0)

export function requestOf(account: string, answer = '{"validators":[]}'): KeptRequest {
  return { account, bodyHash: 'ab'.repeat(32), answer }
}

export function pubkeysOf({ deposits }: PreparedKeys): readonly string[] {
  return deposits.map(({ pubkey }) => hexOf(pubkey))
}

/** One vault for all tests that it is asked in, opened before them and closed after them: each opening starts a process. */
export function sharedVault(newPlace: () => Promise<KeyVaultPlace>): () => KeyVault {
  const open = new AsyncDisposableStack()
  let vault: KeyVault | undefined
  beforeAll(async () => {
    vault = open.use(await open.use(await newPlace()).open())
  })
  afterAll(() => open.disposeAsync())
  return () => {
    if (vault === undefined) throw new Error('the vault is open during tests only')
    return vault
  }
}

/** What all key vaults must do: the guarantees of infra/ports/key-vault.ts, each as a test. */
export function keyVaultContract(name: string, newPlace: () => Promise<KeyVaultPlace>): void {
  async function openPlace(): Promise<KeyVaultPlace> {
    const place = await newPlace()
    onTestFinished(() => place[Symbol.asyncDispose]())
    return place
  }

  async function openVault(options?: { readonly preparedKeysMax?: number }): Promise<KeyVault> {
    const vault = await (await openPlace()).open(options)
    onTestFinished(() => vault[Symbol.asyncDispose]())
    return vault
  }

  describe(`key vault contract: ${name}`, () => {
    const refusing = sharedVault(newPlace)

    test('signs deposits whose roots are the specification and whose signatures another library verifies', async () => {
      const vault = await openVault()
      const { deposits } = await vault.prepare(2, TERMS)
      expect(deposits).toHaveLength(2)
      const domain = computeDomain(DOMAIN_DEPOSIT, TERMS.genesisForkVersion, new Uint8Array(32))
      const { longSignatures } = bls12_381
      for (const { pubkey, withdrawalCredentials, amountGwei, signature, messageRoot, dataRoot } of deposits) {
        const message = { pubkey, withdrawalCredentials, amount: Number(amountGwei) }
        expect([hexOf(withdrawalCredentials), amountGwei]).toEqual([
          hexOf(TERMS.withdrawalCredentials),
          TERMS.amountGwei,
        ])
        expect(hexOf(messageRoot)).toBe(hexOf(ssz.phase0.DepositMessage.hashTreeRoot(message)))
        expect(hexOf(dataRoot)).toBe(hexOf(ssz.phase0.DepositData.hashTreeRoot({ ...message, signature })))
        const signed = longSignatures.hash(computeSigningRoot(ssz.phase0.DepositMessage, message, domain), DST)
        expect(longSignatures.verify(signature, signed, pubkey)).toBe(true)
      }
    })

    test('prepares up to a hundred keys at once, each another one', async () => {
      const vault = await openVault()
      const prepared = await Promise.all([vault.prepare(100, TERMS), vault.prepare(1, TERMS), vault.prepare(3, TERMS)])
      expect(prepared.map(({ deposits }) => deposits.length)).toEqual([100, 1, 3])
      expect(new Set(prepared.flatMap(pubkeysOf)).size).toBe(104)
      expect(new Set(prepared.map(({ id }) => id)).size).toBe(3)
    })

    test.each([0, -1, 101, 1.5, Number.NaN])('refuses to prepare %d keys', async (count) => {
      const vault = refusing()
      await expect(vault.prepare(count, TERMS)).rejects.toThrow(RangeError)
    })

    test.each<Partial<DepositTerms>>([
      { genesisForkVersion: new Uint8Array(3) },
      { withdrawalCredentials: new Uint8Array(20) },
      { amountGwei: 2n ** 64n },
      { amountGwei: -1n },
    ])('refuses terms that no deposit has, and keeps what others have prepared: %o', async (wrong) => {
      const vault = refusing()
      const { id } = await vault.prepare(1, TERMS)
      await expect(vault.prepare(1, { ...TERMS, ...wrong })).rejects.toThrow(RangeError)
      expect(await vault.commit(id, id, requestOf('acme'))).toEqual(requestOf('acme'))
    })

    test('has a request as it was committed, after it was opened again too', async () => {
      const place = await openPlace()
      const request = requestOf('acme', `{"text":"${'ü'.repeat(100_000)}"}`)
      {
        await using vault = await place.open()
        expect(await vault.request('acme', 'r')).toBeUndefined()
        const { id } = await vault.prepare(3, TERMS)
        expect(await vault.request('acme', 'r')).toBeUndefined()
        expect(await vault.commit(id, 'r', request)).toEqual(request)
        expect(await vault.request('acme', 'r')).toEqual(request)
      }
      await using vault = await place.open()
      expect(await vault.request('acme', 'r')).toEqual(request)
    })

    test('the first of two commits of one request stands, and the keys of the other are forgotten', async () => {
      const vault = await openVault()
      const [first, second] = [await vault.prepare(1, TERMS), await vault.prepare(1, TERMS)]
      await vault.commit(first.id, 'r', requestOf('acme', 'first'))
      expect(await vault.commit(second.id, 'r', requestOf('acme', 'second'))).toEqual(requestOf('acme', 'first'))
      expect(await vault.request('acme', 'r')).toEqual(requestOf('acme', 'first'))
      await expect(vault.commit(second.id, 'other', requestOf('acme'))).rejects.toThrow(FORGOTTEN)
    })

    test('of many commits of one request at once, all return the same', async () => {
      const vault = await openVault()
      const prepared = await Promise.all(Array.from({ length: 10 }, () => vault.prepare(1, TERMS)))
      const kept = await Promise.all(prepared.map(({ id }, i) => vault.commit(id, 'r', requestOf('acme', `${i}`))))
      expect(new Set(kept.map(({ answer }) => answer)).size).toBe(1)
    })

    test('a request is of its account', async () => {
      const vault = await openVault()
      const [one, other] = [await vault.prepare(1, TERMS), await vault.prepare(1, TERMS)]
      await vault.commit(one.id, 'r', requestOf('acme', 'of acme'))
      expect(await vault.request('globex', 'r')).toBeUndefined()
      await vault.commit(other.id, 'r', requestOf('globex', 'of globex'))
      expect(await vault.request('acme', 'r')).toEqual(requestOf('acme', 'of acme'))
      expect(await vault.request('globex', 'r')).toEqual(requestOf('globex', 'of globex'))
    })

    test('lacks the keys that were not committed, and those of others', async () => {
      const vault = await openVault()
      const committed = await vault.prepare(2, TERMS)
      await vault.commit(committed.id, 'r', requestOf('acme'))
      const lacked = [...pubkeysOf(await vault.prepare(1, TERMS)), `0x${'ab'.repeat(48)}`]
      expect(await vault.lacking([...pubkeysOf(committed), ...lacked])).toEqual(lacked)
      expect(await vault.lacking([])).toEqual([])
    })

    test('commits prepared keys once', async () => {
      const vault = await openVault()
      const { id } = await vault.prepare(1, TERMS)
      await vault.commit(id, 'r', requestOf('acme'))
      await expect(vault.commit(id, 'other', requestOf('acme'))).rejects.toThrow(FORGOTTEN)
      await expect(vault.commit('never prepared', 'other', requestOf('acme'))).rejects.toThrow(FORGOTTEN)
      expect(await vault.request('acme', 'other')).toBeUndefined()
    })

    test('forgets the keys prepared first when many are prepared and not committed', async () => {
      const vault = await openVault({ preparedKeysMax: 10 })
      const [first, second, third] = [
        await vault.prepare(4, TERMS),
        await vault.prepare(6, TERMS),
        await vault.prepare(1, TERMS),
      ]
      await expect(vault.commit(first.id, 'first', requestOf('acme'))).rejects.toThrow(FORGOTTEN)
      await vault.commit(second.id, 'second', requestOf('acme'))
      await vault.commit(third.id, 'third', requestOf('acme'))
    })

    test('what is committed makes room, and one set may be larger than the room', async () => {
      const vault = await openVault({ preparedKeysMax: 10 })
      const first = await vault.prepare(4, TERMS)
      const second = await vault.prepare(6, TERMS)
      await vault.commit(second.id, 'second', requestOf('acme'))
      await vault.prepare(6, TERMS)
      await vault.commit(first.id, 'first', requestOf('acme'))
      const large = await vault.prepare(11, TERMS)
      await vault.commit(large.id, 'large', requestOf('acme'))
    })

    test('has forgotten what was prepared when it is opened again, and never makes those keys again', async () => {
      const place = await openPlace()
      const prepared: PreparedKeys[] = []
      for (let i = 0; i < 3; i++) {
        await using vault = await place.open()
        for (const { id } of prepared)
          await expect(vault.commit(id, `r${i}`, requestOf('acme'))).rejects.toThrow(FORGOTTEN)
        prepared.push(await vault.prepare(5, TERMS))
      }
      expect(new Set(prepared.flatMap(pubkeysOf)).size).toBe(15)
    })

    test('finishes what was asked when it is closed, and then refuses', async () => {
      const place = await openPlace()
      const vault = await place.open()
      const { id } = await vault.prepare(1, TERMS)
      const committed = vault.commit(id, 'r', requestOf('acme'))
      await Promise.all([committed, Promise.resolve().then(() => vault[Symbol.asyncDispose]())])
      await expect(vault.request('acme', 'r')).rejects.toMatchObject({ code: 'key_vault' })
      await using again = await place.open()
      expect(await again.request('acme', 'r')).toEqual(requestOf('acme'))
    })
  })
}
