/** Credentials that name an address (0x01, and 0x02 of EIP-7251): eleven zero bytes lie between. */
const WITH_ADDRESS = /^0x0[12]0{22}([0-9a-f]{40})$/

/** The address that withdrawal credentials name, lower-case hex as they are; undefined where they name a key. */
export function withdrawalAddress(credentials: string): string | undefined {
  const digits = WITH_ADDRESS.exec(credentials)?.[1]
  return digits === undefined ? undefined : `0x${digits}`
}
