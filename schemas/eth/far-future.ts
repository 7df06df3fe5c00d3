/** FAR_FUTURE_EPOCH of the consensus specifications: an epoch that is not set. */
export const FAR_FUTURE_EPOCH = 2n ** 64n - 1n

/** As epochs are told: decimal text. */
export const FAR_FUTURE_EPOCH_TEXT = String(FAR_FUTURE_EPOCH)

/** An epoch of a state, as decimal text; undefined where the chain has not fixed it, or nothing is told. */
export function fixedEpoch(text: string | undefined): number | undefined {
  return text === undefined || BigInt(text) === FAR_FUTURE_EPOCH ? undefined : Number(text)
}
