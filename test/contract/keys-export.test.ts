import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ASKED_KEYS_MAX } from '../../commands/keys/key-question.ts'
import { exportKeys } from '../../commands/keys/run-keys.ts'
import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import type { KeyKeeping } from '../../infra/ports/key-keeping.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { settingsOfFile, type TestSetting } from '../unit/setting-of-file.ts'
import { requestOf, TERMS } from './key-vault.ts'

const settingOf = settingsOfFile()
const KEYS_PER_REQUEST = 100
/** A point of the curve that no vault here has. */
const STRANGER = `0x97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb`

let setting: TestSetting
/** More than one question can name. */
const pubkeys: string[] = []

const inVault = async <T>(
  use: (vault: Pick<KeyKeeping, 'exportedBefore' | 'exportKeys'>) => Promise<T>,
): Promise<T> => {
  await using vault = await openLocalKeyVault(setting.config.vault)
  return await use(vault)
}

beforeAll(async () => {
  setting = settingOf()
  await using vault = await openLocalKeyVault(setting.config.vault)
  while (pubkeys.length <= ASKED_KEYS_MAX) {
    const prepared = await vault.prepare(KEYS_PER_REQUEST, TERMS)
    await vault.commit(prepared.id, prepared.id, requestOf('acme'))
    pubkeys.push(...prepared.deposits.map(({ pubkey }) => hexOf(pubkey)))
  }
})

/** What is refused of the last of many leaves no folder and no mark of the first. */
async function refusedAsAWhole(
  validator: readonly string[],
  message: RegExp,
  marked: readonly string[],
): Promise<void> {
  const to = join(setting.config.dataDirectory, 'exported')
  const exported = exportKeys(setting, { validator, to, again: false })
  await expect(exported).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(message) })
  expect(existsSync(to)).toBe(false)
  expect(await inVault((vault) => vault.exportedBefore(pubkeys))).toEqual(marked)
}

test('of more keys than one question names none is exported where the vault lacks the last', async () => {
  await refusedAsAWhole(
    [...pubkeys.slice(0, ASKED_KEYS_MAX), STRANGER],
    /no secret of 0x97f1.*; nothing was exported/,
    [],
  )
})

test('of more keys than one question names none is exported where the last was exported before', async () => {
  const last = pubkeys.at(-1) ?? ''
  const file = join(setting.config.dataDirectory, 'password')
  writeFileSync(file, 'correct horse')
  await inVault((vault) => vault.exportKeys([last], { password: { kind: 'file', file }, again: false }))
  await refusedAsAWhole([...pubkeys.slice(0, ASKED_KEYS_MAX), last], /^Exported before.*; nothing was exported/, [last])
})
