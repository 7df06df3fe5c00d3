import type { CreatedTerms } from '../../schemas/eth/staking-check.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { type ValidatorsCreated, validatorsCreated } from '../../schemas/events/created-validators.ts'

/** Validators that one request has created, and when. */
export interface CreatedSet extends ValidatorsCreated {
  /** ISO 8601. */
  readonly createdAt: string
}

/** A request, as the log and the vault name it. */
interface RequestName {
  readonly account: string
  readonly requestId: string
}

/** The validators that the log says were created. */
export class CreatedKeys {
  readonly #byRequest = new Map<string, CreatedSet>()
  readonly #byKey = new Map<string, CreatedSet>()
  readonly #byAccount = new Map<string, CreatedSet[]>()
  /** By withdrawal address: the last digits of the credentials. */
  readonly #byAddress = new Map<string, CreatedSet[]>()
  readonly #byChain = new Map<string, CreatedSet[]>()

  add(event: EncodedEvent): void {
    if (event.type !== validatorsCreated.name) return
    const set = { ...decodeEvent(validatorsCreated, event), createdAt: event.time }
    // Told twice, it is one request all the same.
    if (this.hasRequest(set)) return
    this.#byRequest.set(nameOf(set), set)
    this.#byAccount.set(accountOf(set), [...(this.#byAccount.get(accountOf(set)) ?? []), set])
    const payee = payeeOf(set.chain, set.withdrawalCredentials)
    this.#byAddress.set(payee, [...(this.#byAddress.get(payee) ?? []), set])
    this.#byChain.set(set.chain, [...(this.#byChain.get(set.chain) ?? []), set])
    for (const pubkey of set.pubkeys) this.#byKey.set(`${set.chain}:${pubkey}`, set)
  }

  hasRequest(request: RequestName): boolean {
    return this.#byRequest.has(nameOf(request))
  }

  ofRequest(request: RequestName): CreatedSet | undefined {
    return this.#byRequest.get(nameOf(request))
  }

  /** With whom a key was created; undefined for one that was not created here. */
  of(chain: string, pubkey: string): CreatedSet | undefined {
    return this.#byKey.get(`${chain}:${pubkey}`)
  }

  /** In the order of the log. */
  ofAccount(chain: string, account: string): readonly CreatedSet[] {
    return this.#byAccount.get(accountOf({ chain, account })) ?? []
  }

  /** Keys whose credentials pay an address, lower-case hex; in the order of the log. */
  payingTo(chain: string, address: string): readonly string[] {
    return (this.#byAddress.get(payeeOf(chain, address)) ?? []).flatMap(({ pubkeys }) => pubkeys)
  }

  /** In the order of the log. */
  ofChain(chain: string): readonly CreatedSet[] {
    return this.#byChain.get(chain) ?? []
  }

  chains(): readonly string[] {
    return [...this.#byChain.keys()]
  }

  /** What a key was created with by an account; undefined for one that this account did not create. */
  termsOf(whose: { readonly chain: string; readonly account: string }, pubkey: string): CreatedTerms | undefined {
    const set = this.of(whose.chain, pubkey)
    if (set === undefined || set.account !== whose.account) return undefined
    const { withdrawalCredentials, depositFrom, pubkeys, depositDataRoots } = set
    return { withdrawalCredentials, depositFrom, depositDataRoot: depositDataRoots[pubkeys.indexOf(pubkey)] }
  }

  /** Of all chains and accounts, in the order of the log. */
  pubkeys(): readonly string[] {
    return [...this.#byRequest.values()].flatMap(({ pubkeys }) => pubkeys)
  }
}

function nameOf({ account, requestId }: RequestName): string {
  return `${account}/${requestId}`
}

function payeeOf(chain: string, addressOrCredentials: string): string {
  return `${chain}/${addressOrCredentials.slice(-40)}`
}

function accountOf({ chain, account }: { readonly chain: string; readonly account: string }): string {
  return `${chain}/${account}`
}
