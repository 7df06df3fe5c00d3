/** Of one key at one network, each a connection to a node: who watches a chain needs one, and some more where programs share a key. */
export const STREAMS_OF_KEY_MAX = 32
/** Of all keys at one network: sixteen keys have all of theirs, and nodes keep so many connections besides those of other calls. */
export const STREAMS_OF_NETWORK_MAX = 512

/** Answers without end that are under way: so many for a key, and for a network, as there are sockets. */
export class OpenStreams {
  readonly #ofKeys = new Map<string, number>()
  readonly #ofNetworks = new Map<string, number>()

  /** Undefined: there are too many. What it returns is to be called when it has ended, once. */
  open(tokenHash: string, network: string): (() => void) | undefined {
    const key = `${tokenHash} ${network}`
    const [ofKey, ofNetwork] = [this.#ofKeys.get(key) ?? 0, this.#ofNetworks.get(network) ?? 0]
    if (ofKey >= STREAMS_OF_KEY_MAX || ofNetwork >= STREAMS_OF_NETWORK_MAX) return undefined
    this.#ofKeys.set(key, ofKey + 1)
    this.#ofNetworks.set(network, ofNetwork + 1)
    return () => {
      lessen(this.#ofKeys, key)
      lessen(this.#ofNetworks, network)
    }
  }
}

function lessen(counts: Map<string, number>, name: string): void {
  const left = (counts.get(name) ?? 0) - 1
  if (left > 0) counts.set(name, left)
  else counts.delete(name)
}
