/** Who has it has the vault: one process at a time. */
export const VALIDATORS_LEASE = 'validators'
