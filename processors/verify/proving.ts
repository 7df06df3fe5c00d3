/** How figures are proven. */
export interface Proving {
  /** Only figures of this chain; of all where it is empty. */
  readonly chain: string
  /** Asked when a statement has found something wrong: true to ask it once more, when what is being written has been. */
  readonly again: () => Promise<boolean>
}

/** Everything, once. */
export const PROVE_ALL: Proving = { chain: '', again: async () => false }
