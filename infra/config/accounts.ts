import { join } from 'node:path'
import { AccountsKey, type FileSettings, StatementKey } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { AccountsConfig, StatementsConfig } from './types.ts'
import { readKeySource } from './vault.ts'

/** What people's own accounts are kept with. */
export function readAccounts(reader: SettingReader, { accounts }: FileSettings, dataDirectory: string): AccountsConfig {
  const place = { path: ['accounts', 'key'], variable: 'ACCOUNTS_KEY', rule: AccountsKey, inFile: accounts?.key }
  return { keySource: readKeySource(reader, { ...place, beside: join(dataDirectory, 'accounts.key') }) }
}

/** What monthly statements of accounts are signed with. */
export function readStatements(
  reader: SettingReader,
  { statements }: FileSettings,
  dataDirectory: string,
): StatementsConfig {
  const place = { path: ['statements', 'key'], variable: 'STATEMENT_KEY', rule: StatementKey, inFile: statements?.key }
  return { keySource: readKeySource(reader, { ...place, beside: join(dataDirectory, 'statement.key') }) }
}
