import { UNTOLD_SLOT } from './accounts.ts'

// What is known of public keys that an account has, by whoever looked for them in the registry. Statements are of the parameter `chain`.

/**
 * Versions of account facts: whoever they and those before them name was looked for in the registry (`looked`), and is asked about in `epoch` (`told`).
 */
export const LOOKS_SQL = `
  SELECT max(accounts_version) AS looked, maxIf(accounts_version, from_epoch <= {epoch:UInt32}) AS told
  FROM registry_looks FINAL WHERE chain = {chain:String}`

/**
 * Public keys with the version of the first fact that names each (`since`), those alone that facts behind version `told` name first. What was made here came into the log
 * before anybody could make a deposit for it: there is no closed day on which it was active. Where the slot is not told, an earlier log may have had it. `where` is on `chain` and `pubkey`.
 */
export function untoldFactsSql(where: string): string {
  return `
    SELECT pubkey, min(version) AS since
    FROM
    (
      SELECT pubkey, version FROM validator_owners WHERE ${where}
      UNION ALL SELECT pubkey, version FROM watched_validators WHERE ${where}
    )
    WHERE pubkey NOT IN (SELECT pubkey FROM created_validators FINAL WHERE ${where} AND created_at_slot != ${UNTOLD_SLOT})
    GROUP BY pubkey
    HAVING since > {told:UInt64}`
}
