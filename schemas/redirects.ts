const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Whether a status of HTTP leads to another address, which `location` names. */
export const isRedirect = (status: number): boolean => REDIRECTS.has(status)
