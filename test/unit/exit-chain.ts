import { PublicKey, SecretKey, Signature, verify } from '@chainsafe/blst'
import { DOMAIN_VOLUNTARY_EXIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { signExit } from '../../infra/key-vault/sign-exit.ts'
import type { ExitFacts, ExitNode, RegisteredValidator, Submission } from '../../infra/ports/exit-node.ts'
import type { ExitTerms, ExitToSign, KeyVault } from '../../infra/ports/key-vault.ts'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import type { SignedVoluntaryExit } from '../../schemas/eth/voluntary-exit.ts'

/** Epochs from a head to what is final behind it. */
const FINALITY_EPOCHS = 2
/** From an exit's block to its exit epoch (1 + MAX_SEED_LOOKAHEAD). */
const EXIT_DELAY_EPOCHS = 5

export const EXIT_FACTS: ExitFacts = {
  capellaForkVersion: Uint8Array.of(0x40, 0, 0x09, 0x10),
  genesisValidatorsRoot: new Uint8Array(32).fill(0x17),
  shardCommitteePeriodEpochs: 32,
}

/** What a chain of the tests does with exits: it checks them as the specification does, and its nodes' pools forget when they are told to. */
export class TestExitChain implements ExitNode {
  epoch = 0
  /** Whether the nodes lose what they have accepted before a block takes it. */
  isForgetful = false
  isThere = true
  /** What each node answers besides the truth. */
  faults: readonly (Submission | undefined)[]
  /** JSON of every exit that was handed to a node. */
  readonly handed: string[] = []
  readonly #validators = new Map<
    string,
    { readonly index: number; readonly activationEpoch: number | undefined; exit?: Included }
  >()
  readonly #pool = new Set<string>()

  constructor(nodes = 1) {
    this.faults = Array.from({ length: nodes }, () => undefined)
  }

  add(pubkey: string, activationEpoch: number): void {
    this.#validators.set(pubkey, { index: this.#validators.size, activationEpoch })
  }

  /** Known to the registry, and not activated. */
  addWaiting(pubkey: string): void {
    this.#validators.set(pubkey, { index: this.#validators.size, activationEpoch: undefined })
  }

  /** One more epoch: its blocks take what is in the pool. */
  advance(): void {
    this.epoch++
    for (const pubkey of this.#pool) {
      const validator = this.#validators.get(pubkey)
      if (validator !== undefined) validator.exit ??= { block: this.epoch, exitEpoch: this.epoch + EXIT_DELAY_EPOCHS }
    }
    this.#pool.clear()
  }

  /** It leaves otherwise than by what the pool has: by a withdrawal request (EIP-7002), a slashing, a pre-signed exit. */
  leave(pubkey: string): void {
    const validator = this.#validators.get(pubkey)
    if (validator !== undefined) validator.exit ??= { block: this.epoch, exitEpoch: this.epoch + EXIT_DELAY_EPOCHS }
  }

  facts = async () => EXIT_FACTS
  headEpoch = async () => this.epoch

  async registered(state: 'head' | 'finalized', pubkeys: readonly string[]) {
    if (!this.isThere) throw new AppError('node_unreachable', 'no node answers')
    const epoch = state === 'head' ? this.epoch : this.epoch - FINALITY_EPOCHS
    return new Map(
      pubkeys.flatMap((pubkey): [string, RegisteredValidator][] => {
        const validator = this.#validators.get(pubkey)
        if (validator === undefined || epoch < 0) return []
        const { index, activationEpoch, exit } = validator
        const exitEpoch = exit !== undefined && exit.block <= epoch ? exit.exitEpoch : undefined
        return [[pubkey, { index, activationEpoch, exitEpoch }]]
      }),
    )
  }

  async submit(exit: SignedVoluntaryExit): Promise<readonly Submission[]> {
    return this.faults.map((fault) => {
      this.handed.push(JSON.stringify([exit.epoch, exit.validatorIndex, exit.signature]))
      return fault ?? this.#check(exit)
    })
  }

  #check({ epoch, validatorIndex, signature }: SignedVoluntaryExit): Submission {
    const [pubkey, validator] = [...this.#validators].find(([, { index }]) => index === validatorIndex) ?? []
    if (pubkey === undefined || validator === undefined) return { status: 'refused', reason: 'inactive' }
    if (validator.exit !== undefined) return { status: 'refused', reason: 'already_exited' }
    if (epoch > this.epoch) return { status: 'refused', reason: 'early_epoch' }
    if (validator.activationEpoch === undefined) return { status: 'refused', reason: 'inactive' }
    if (this.epoch < validator.activationEpoch + EXIT_FACTS.shardCommitteePeriodEpochs)
      return { status: 'refused', reason: 'short_time_active' }
    const { capellaForkVersion, genesisValidatorsRoot } = EXIT_FACTS
    const domain = computeDomain(DOMAIN_VOLUNTARY_EXIT, capellaForkVersion, genesisValidatorsRoot)
    const root = computeSigningRoot(ssz.phase0.VoluntaryExit, { epoch, validatorIndex }, domain)
    if (!verify(root, PublicKey.fromBytes(bytesOf(pubkey)), Signature.fromBytes(bytesOf(signature))))
      return { status: 'refused', reason: 'invalid_signature' }
    if (!this.isForgetful) this.#pool.add(pubkey)
    return { status: 'accepted' }
  }

  watch = async () => {}
  async [Symbol.asyncDispose](): Promise<void> {}
}

interface Included {
  readonly block: number
  readonly exitEpoch: number
}

/** A vault with keys of the tests, of which exits need no more. */
export class TestExitVault implements Pick<KeyVault, 'lacking' | 'signExits'> {
  readonly #keys = new Map<string, SecretKey>()
  signed = 0
  /** Whether it cannot sign with a key that it has: then it signs none of the list. */
  refuses: (pubkey: string) => boolean = () => false

  /** The public key of a new one. */
  add(seed: number): string {
    const key = SecretKey.fromKeygen(new Uint8Array(32).fill(seed))
    const pubkey = hexOf(key.toPublicKey().toBytes())
    this.#keys.set(pubkey, key)
    return pubkey
  }

  lose(pubkey: string): () => void {
    const key = this.#keys.get(pubkey)
    this.#keys.delete(pubkey)
    return () => void (key && this.#keys.set(pubkey, key))
  }

  lacking = async (pubkeys: readonly string[]) => pubkeys.filter((pubkey) => !this.#keys.has(pubkey))

  async signExits(exits: readonly ExitToSign[], terms: ExitTerms): Promise<readonly Uint8Array[]> {
    if (exits.some(({ pubkey }) => this.refuses(pubkey))) throw new AppError('key_vault', 'It was refused.')
    return exits.map((exit) => {
      const key = this.#keys.get(exit.pubkey)
      if (key === undefined) throw new Error('asked for a key that was said to be lacking')
      this.signed++
      return signExit(key, exit, terms)
    })
  }
}
