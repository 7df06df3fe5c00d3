import type { Warehouse } from '../../infra/ports/warehouse.ts'

// An epoch is complete when its blocks event is there and so is every part that the event names, with the rows that it names.
// Of several blocks events the newest tells how many; of several events of one part the one with the most rows counts, since
// the rows of all of them are there.
const COMPLETE_SQL = `
INSERT INTO epochs (chain, epoch, first_slot, last_slot, blocks, version)
SELECT
  {chain:String}, parts.epoch, parts.epoch * clock.slots_per_epoch, (parts.epoch + 1) * clock.slots_per_epoch - 1,
  parts.blocks, parts.blocks_version
FROM (
  SELECT
    epoch, maxIf(present, kind = 'blocks') AS blocks, maxIf(present_version, kind = 'blocks') AS blocks_version,
    countIf(kind = 'blocks' AND is_present) AS told, countIf(NOT is_present OR present < expected) AS missing
  FROM (
    SELECT
      epoch, kind, range, countIf(is_expected = 0) > 0 AS is_present, argMaxIf(rows, version, is_expected = 1) AS expected,
      maxIf(rows, is_expected = 0) AS present, maxIf(version, is_expected = 0) AS present_version
    FROM epoch_parts FINAL
    WHERE chain = {chain:String} AND has({epochs:Array(UInt32)}, epoch)
    GROUP BY epoch, kind, range
  )
  GROUP BY epoch
  HAVING told = 1 AND missing = 0
) AS parts
CROSS JOIN (SELECT slots_per_epoch FROM chains FINAL WHERE chain = {chain:String}) AS clock`

/**
 * Writes those of the epochs that are complete to `epochs`, and returns them. Whichever process brings the last part of an epoch
 * sees all of it: rows are visible when their insert has returned, and this is asked after it.
 */
export async function completeEpochs(
  warehouse: Warehouse,
  chain: string,
  epochs: readonly number[],
): Promise<readonly number[]> {
  await warehouse.command(COMPLETE_SQL, { chain, epochs })
  const rows = await warehouse.query<{ epoch: number }>(
    'SELECT DISTINCT epoch FROM epochs WHERE chain = {chain:String} AND has({epochs:Array(UInt32)}, epoch)',
    { chain, epochs },
  )
  return rows.map(({ epoch }) => epoch)
}
