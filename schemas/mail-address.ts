/** Characters of a mail address (RFC 5321, 4.5.3.1.3). */
export const MAIL_ADDRESS_MAX = 254

/**
 * Mail addresses as pages' input fields take them (HTML, "valid e-mail address"), with a dot in the domain: no quotes, no comments, no
 * line breaks, nothing that a header could be made to mean otherwise.
 */
export const MAIL_ADDRESS_PATTERN =
  "^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$"

/** One spelling for all of one address: servers that tell upper case from lower are older than anybody's account. */
export function toSameAddress(address: string): string {
  return address.toLowerCase()
}
