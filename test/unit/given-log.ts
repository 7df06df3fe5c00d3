import { expect } from 'vitest'
import type { EmbeddedMode } from '../../infra/config/types.ts'
import { openEventLog, openMigratedWarehouse } from '../../infra/open-ports.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { copyEmptyTables } from '../empty-warehouse.ts'
import { created } from './account-facts.ts'
import type { GivenChain } from './given-chain.ts'
import { processLog } from './processing.ts'
import type { TestSetting } from './setting-of-file.ts'

// A log that commands find, and the tables that processors have made of it: opened and closed in between, as by processes.

/** Makes the log of a chain, with accounts a and b and these facts; with a time, of what is older. */
export async function givenLog(
  setting: TestSetting,
  chain: GivenChain,
  facts: readonly EncodedEvent[],
  before?: string,
): Promise<TestSetting> {
  await using eventLog = await openEventLog(setting.config, setting.log)
  for (const [topic, events] of chain.events) {
    const told = before === undefined ? events : events.filter(({ time }) => time < before)
    await eventLog.append(topic, topic === 'accounts' ? [created('a'), created('b'), ...facts] : told)
  }
  return setting
}

/** Appends what of the chain is not older than a time. */
export async function appendSince(setting: TestSetting, chain: GivenChain, since: string): Promise<void> {
  await using eventLog = await openEventLog(setting.config, setting.log)
  for (const [topic, events] of chain.events) {
    const later = events.filter(({ time }) => time >= since)
    if (topic !== 'accounts' && later.length > 0) await eventLog.append(topic, later)
  }
}

/** What processors make of the log now, and what `ask` reads of it. */
export async function processed<Answer>(
  setting: TestSetting,
  ask: (warehouse: Warehouse) => Promise<Answer>,
): Promise<Answer> {
  await using eventLog = await openEventLog(setting.config, setting.log)
  await using warehouse = await openTablesOf(setting)
  await processLog(eventLog, warehouse)
  return await ask(warehouse)
}

/** As the program opens it, which finds the tables made. */
async function openTablesOf({ config }: TestSetting): Promise<Warehouse> {
  await copyEmptyTables((config.mode as EmbeddedMode).warehouseDirectory)
  return openMigratedWarehouse(config)
}

export function inTables(setting: TestSetting): Promise<void> {
  return processed(setting, async () => {})
}

/** Why something was refused: its sentences. */
export async function refusal(doing: Promise<void>): Promise<string> {
  const [ended] = await Promise.allSettled([doing])
  if (ended.status === 'fulfilled') throw new Error('it was not refused')
  expect(ended.reason).toMatchObject({ code: 'usage' })
  return ended.reason.message
}
