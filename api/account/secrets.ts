import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { toSameAddress } from '../../schemas/mail-address.ts'

const KEY_BYTES = 32
const KEY_ID_BYTES = 8
/** Sessions and codes: nobody guesses 256 bits. */
const SECRET_BYTES = 32
/** As operators' tokens are. */
const TOKEN_BYTES = 24
const ACCOUNT_BYTES = 8

/** What is made of a key of the installation, so that the log has nothing that means something without it (decision 42). */
export class AccountSecrets {
  readonly #addressKey: Uint8Array
  readonly #saltKey: Uint8Array
  readonly #passwordKey: Uint8Array
  /** Tells the key from others, and nothing else of it. */
  readonly keyId: string

  constructor(key: Uint8Array) {
    const derive = (what: string, bytes = KEY_BYTES): Uint8Array =>
      new Uint8Array(hkdfSync('sha256', key, '', `epochline accounts ${what}`, bytes))
    this.#addressKey = derive('address')
    this.#saltKey = derive('salt')
    this.#passwordKey = derive('password')
    this.keyId = Buffer.from(derive('id', KEY_ID_BYTES)).toString('hex')
  }

  /** What an address is known by. */
  addressOf(email: string): string {
    return createHmac('sha256', this.#addressKey).update(toSameAddress(email)).digest('hex')
  }

  /** Of an address, so that none has to be looked up: who logs in with an unknown one waits as long. */
  saltOf(email: string): Uint8Array {
    return createHmac('sha256', this.#saltKey).update(toSameAddress(email)).digest()
  }

  /** What is kept of what a password was made into. */
  proofOf(derived: Uint8Array): string {
    return createHmac('sha256', this.#passwordKey).update(derived).digest('hex')
  }
}

/** A secret to hand out. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** Says nothing of who has it. */
export function newAccountName(): string {
  return `u-${randomBytes(ACCOUNT_BYTES).toString('hex')}`
}

/** What is known of a secret that was handed out. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex')
}
