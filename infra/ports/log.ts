/** What the rooms need of a logger; pino is one. Fields first, then the message. No token, key or upstream URL in either. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
