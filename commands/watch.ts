/** How a part of this process is: the role that has it says so, whoever is asked for health reads it. */
export class Watch<Health> {
  #read: (() => Health) | undefined

  /** `undefined` where this process has no such part now. */
  watch(read: (() => Health) | undefined): void {
    this.#read = read
  }

  /** Undefined where this process has no such part. */
  health(): Health | undefined {
    return this.#read?.()
  }
}
