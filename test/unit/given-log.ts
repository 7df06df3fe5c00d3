import { LiveSetting } from '../../commands/live-setting.ts'
import type { Ports } from '../../commands/role.ts'
import { answerCommands } from '../../commands/running-program.ts'
import type { EmbeddedMode } from '../../infra/config/types.ts'
import { openEventLog, openJobQueue, openMigratedWarehouse } from '../../infra/open-ports.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { copyEmptyTables } from '../empty-warehouse.ts'
import { created } from './account-facts.ts'
import type { GivenChain } from './given-chain.ts'
import { processLog } from './processing.ts'
import type { TestSetting } from './setting-of-file.ts'

// A log that commands find, and the tables that processors have made of it: opened and closed in between, as by processes, or held by a
// program that is asked, which saves each step the half second that opening the tables takes.

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
  const held = programs.get(setting)
  if (held !== undefined) {
    await processLog(held.eventLog, held.warehouse)
    return await ask(held.warehouse)
  }
  await using eventLog = await openEventLog(setting.config, setting.log)
  await using warehouse = await openTablesOf(setting)
  await processLog(eventLog, warehouse)
  return await ask(warehouse)
}

const programs = new Map<TestSetting, Ports>()

/** Holds the log and its tables and answers commands, until it is disposed: it processes when `processed` says so. */
export async function holdTables(setting: TestSetting): Promise<AsyncDisposable> {
  const open = new AsyncDisposableStack()
  const eventLog = open.use(await openEventLog(setting.config, setting.log))
  const warehouse = open.use(await openTablesOf(setting))
  const jobQueue = open.use(await openJobQueue(setting.config, setting.log))
  const ports = { eventLog, warehouse, jobQueue }
  const running = { ...setting, chains: new LiveSetting([]), nodes: new Map(), nodeHeads: new Map() }
  open.use(await answerCommands(ports, running))
  open.defer(() => void programs.delete(setting))
  programs.set(setting, ports)
  return open
}

/** As the program opens it, which finds the tables made. */
async function openTablesOf({ config }: TestSetting): Promise<Warehouse> {
  await copyEmptyTables((config.mode as EmbeddedMode).warehouseDirectory)
  return openMigratedWarehouse(config)
}

export function inTables(setting: TestSetting): Promise<void> {
  return processed(setting, async () => {})
}
