import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from '../../infra/durable-folder.ts'
import { OWNER_ONLY, OWNER_ONLY_FOLDER } from '../../infra/owner-only.ts'
import { AppError } from '../../schemas/errors.ts'

/** The password is random: so many bits are more than its derivation has to make up for. */
const PASSWORD_BYTES = 32

/** A new folder of keystores or signed exits, for its owner alone. What is in it is on the disk when it was written. */
export class ExportFolder {
  readonly #folder: string
  readonly #names = new Set<string>()
  readonly #deposits: unknown[] = []
  /** Unix seconds, as the deposit tools put them into names. */
  readonly #atSec: number

  /** Throws AppError `usage` for a folder that has anything in it: what is there is never mixed with what is exported. */
  constructor(folder: string, atSec: number) {
    this.#folder = folder
    this.#atSec = atSec
    try {
      mkdirSync(folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
      if (readdirSync(folder).length === 0) return
    } catch (cause) {
      if (!(cause instanceof Error && 'code' in cause)) throw cause
      throw new AppError('usage', `The folder ${folder} cannot be made (${cause.code}); nothing was exported.`, {
        cause,
      })
    }
    throw new AppError('usage', `There is something in ${folder} already: name a new folder; nothing was exported.`)
  }

  get keystores(): number {
    return this.#names.size
  }

  /** Writes a new password, and returns its file. */
  writePassword(): string {
    const password = randomBytes(PASSWORD_BYTES)
    const text = Buffer.from(password.toString('hex'))
    try {
      return this.#write('password.txt', text)
    } finally {
      password.fill(0)
      text.fill(0)
    }
  }

  /** Under the name by which validator clients know a keystore: its path, then a number that is no other's. */
  writeKeystore(text: string, path: string): void {
    const of = /^m(\/\d+){5}$/.test(path) ? path.replaceAll('/', '_') : 'm_12381_3600_0_0_0'
    const nameAt = (sec: number) => `keystore-${of}-${sec}.json`
    let sec = this.#atSec
    while (this.#names.has(nameAt(sec))) sec++
    this.#names.add(nameAt(sec))
    this.#write(nameAt(sec), Buffer.from(text))
  }

  /** A signed exit under its validator's public key. Nothing but the encryption is in it, not even the end of a line. */
  writeExit(jwe: string, pubkey: string): void {
    this.#write(`exit-${pubkey}.jwe`, Buffer.from(jwe))
  }

  addDeposit(entry: unknown): void {
    this.#deposits.push(entry)
  }

  /** Writes the deposits, if there are any, and waits until the folder is on the disk. */
  finish(): { readonly deposits: number } {
    if (this.#deposits.length > 0)
      this.#write('deposit_data.json', Buffer.from(`${JSON.stringify(this.#deposits, null, 2)}\n`))
    syncFolder(this.#folder)
    return { deposits: this.#deposits.length }
  }

  /** Of an export that was refused: nothing but the password is there. */
  remove(): void {
    rmSync(join(this.#folder, 'password.txt'), { force: true })
    if (readdirSync(this.#folder).length === 0) rmdirSync(this.#folder)
  }

  #write(name: string, bytes: Uint8Array): string {
    const file = join(this.#folder, name)
    writeFileSync(file, bytes, { mode: OWNER_ONLY, flag: 'wx', flush: true })
    return file
  }
}
