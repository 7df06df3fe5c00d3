import type { Hex } from 'viem'
import type { Random } from '../../infra/devnet/consensus/random.ts'
import { type Collections, IDS, keyOf, MAX, type Move, type Name, type Said, SINGLES } from './collections-on-anvil.ts'

/**
 * Draws what people do with their tokens. It keeps in mind what they probably have, so that most of it is possible; what is not, the
 * contracts refuse. Nothing is compared with it.
 */
export class RandomMoves {
  readonly #collections: Collections
  readonly #random: Random
  #held = new Map<string, bigint>()
  #owners = new Map<string, Hex>()

  constructor(collections: Collections, random: Random) {
    this.#collections = collections
    this.#random = random
  }

  /** From now on people have what the contracts say. */
  remember({ held }: Said): void {
    this.#held = new Map(held)
    this.#owners = new Map()
    for (const key of held.keys()) {
      const [contract, id, holder] = key.split(' ') as [Hex, string, Hex]
      this.#owners.set(keyOf(contract, id), holder)
    }
  }

  draw(count: number): readonly Move[] {
    return Array.from({ length: count }, () => this.#one())
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #of<One>(list: readonly One[]): One {
    return list[this.#below(list.length)] as One
  }

  #one(): Move {
    const draw = this.#random()
    if (draw < 0.5) return this.#ofOneKind(this.#of(SINGLES))
    if (draw < 0.9) return this.#provisions()
    return this.#halves()
  }

  /** Its owner, or somebody for him, passes a token on, or ends it; where there is none, or against its will, it is made. */
  #ofOneKind(contract: (typeof SINGLES)[number]): Move {
    const { people, addresses } = this.#collections
    const id = this.#of(IDS[contract])
    const key = keyOf(addresses[contract], id)
    const owner = this.#owners.get(key)
    const to = this.#of(people)
    if (owner === undefined || this.#random() < 0.03) {
      this.#owners.set(key, to)
      if (contract === 'Charts') return { contract, sender: to, functionName: 'burn', args: [id] } // there never is another one
      if (contract !== 'Echoes') return { contract, sender: to, functionName: 'mint', args: [to, id] }
      const count = [3n, 2n].find((more) => this.#below(3) > 0 && IDS.Echoes.includes(id + more - 1n)) ?? 1n
      return { contract, sender: to, functionName: 'mintRange', args: [to, id, count] }
    }
    if (contract === 'Almanac' && this.#random() < 0.2)
      return { contract, sender: owner, functionName: 'revise', args: [id] }
    if (this.#random() < 0.2) {
      this.#owners.delete(key)
      return { contract, sender: owner, functionName: 'burn', args: [id] }
    }
    this.#owners.set(key, to)
    const functionName = this.#random() < 0.5 ? 'transferFrom' : 'safeTransferFrom'
    return { contract, sender: owner, functionName, args: [owner, to, id] }
  }

  #amount(): bigint {
    return this.#of([0n, 1n, 2n, 3n, 1000n, 2n ** 128n - 1n, 2n ** 128n, 2n ** 255n, MAX - 1n, MAX])
  }

  #provisions(): Move {
    const contract = 'Provisions'
    const { people } = this.#collections
    const sender = this.#of(people)
    const to = this.#of(people)
    const ids = Array.from({ length: 1 + this.#below(5) }, () => this.#of(IDS.Provisions)) // often one of them twice
    const [id = 0n] = ids
    const draw = this.#random()
    if (draw < 0.2) return { contract, sender, functionName: 'mint', args: [to, id, this.#amount()] }
    if (draw < 0.35) {
      const amounts = ids.map(() => this.#amount())
      return { contract, sender, functionName: 'mintBatch', args: [to, ids, amounts] }
    }
    const takes = ids.map((one) => this.#take(one, sender))
    if (draw < 0.6)
      return { contract, sender, functionName: 'safeTransferFrom', args: [sender, to, id, takes[0], '0x'] }
    if (draw < 0.9)
      return { contract, sender, functionName: 'safeBatchTransferFrom', args: [sender, to, ids, takes, '0x'] }
    return { contract, sender, functionName: 'burnBatch', args: [sender, ids, takes] }
  }

  /** Some, all, or none of what somebody has. */
  #take(id: bigint, holder: Hex): bigint {
    const key = keyOf(this.#collections.addresses.Provisions, id, holder)
    const has = this.#held.get(key) ?? 0n
    const taken = this.#of([0n, 1n, has / 2n, has, has])
    const some = taken > has ? has : taken
    this.#held.set(key, has - some)
    return some
  }

  #halves(): Move {
    const contract: Name = 'Halves'
    const { people, addresses } = this.#collections
    const sender = this.#of(people)
    const to = this.#of(people)
    const amount = BigInt(this.#below(5))
    const draw = this.#random()
    if (draw < 0.4) return { contract, sender, functionName: 'mint', args: [to, amount] }
    if (draw < 0.7) return { contract, sender, functionName: 'transfer', args: [to, amount] }
    const owned = [...this.#owners].filter(([key]) => key.startsWith(addresses.Halves))
    if (draw < 0.9 && owned.length > 0) {
      const [key, owner] = this.#of(owned)
      return { contract, sender: owner, functionName: 'transferToken', args: [to, BigInt(key.split(' ')[1] ?? 0)] }
    }
    return { contract, sender, functionName: 'burn', args: [amount] }
  }
}
