import { type Random, seededRandom } from '../../infra/devnet/consensus/random.ts'

/** All chance of a history, one stream. */
export class Dice {
  readonly #random: Random

  constructor(seed: string, label: string) {
    this.#random = seededRandom(seed, label)
  }

  chance(probability: number): boolean {
    return this.#random() < probability
  }

  /** From `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1))
  }

  pick<T>(from: readonly T[]): T {
    return from[this.whole(0, from.length - 1)] as T
  }

  /** Undefined where there is nothing to pick from. */
  pickAny<T>(from: readonly T[]): T | undefined {
    return from.length === 0 ? undefined : this.pick(from)
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.whole(0, 255))
  }
}
