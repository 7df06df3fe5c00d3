/** The largest request names 1,000 public keys: about 100 kB. */
export const BODY_BYTES_MAX = 1024 * 1024
/** Of a body's object: operations have some ten, and each that is not theirs is compared with all of these. */
export const MEMBERS_MAX = 1_000
/** 1,000 validator indices as repeated keys. */
export const URL_CHARACTERS_MAX = 32_768
export const HEADER_BYTES_MAX = 65_536
/** Of one segment of a path; the longest one is a token. */
export const SEGMENT_CHARACTERS_MAX = 256
/** Until the whole request has arrived. */
export const REQUEST_TIMEOUT_MS = 30_000
/** Until an answer is ready: statements run a third of it, and wait for their turns. It is also how long a stop waits for what is under way. */
export const ANSWER_MS_MAX = 45_000
export const KEEP_ALIVE_TIMEOUT_MS = 5_000
/** How long a browser may remember what pages may do: rules change with a restart only. */
export const PREFLIGHT_AGE_SEC = 600
