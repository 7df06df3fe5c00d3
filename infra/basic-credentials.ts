import querystring from 'node:querystring'

/**
 * User and password of an address as a header has them (RFC 7617, in UTF-8). A `%` that begins no escape is one: the parser of addresses leaves it
 * as it is, and `decodeURIComponent` throws at it.
 */
export function basicCredentials({ username, password }: Pick<URL, 'username' | 'password'>): string {
  return Buffer.from(`${querystring.unescape(username)}:${querystring.unescape(password)}`).toString('base64')
}
