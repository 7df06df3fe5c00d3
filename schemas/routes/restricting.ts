import type { TSchema } from 'typebox'

/**
 * A member that is refused where it is null or empty text, which elsewhere is as if it were left out: whoever has no value for it must not get
 * what is without the restriction.
 */
export const restricting = <Schema extends TSchema>(schema: Schema): Schema => ({ ...schema, 'x-restricts': true })
