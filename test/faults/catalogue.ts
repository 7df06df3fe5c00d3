import { BACKFILL_FAULTS } from './backfill-faults.ts'
import { EXECUTION_FAULTS } from './execution-faults.ts'
import type { Fault, TrueChain } from './fault.ts'
import { liveFaults } from './live-faults.ts'
import { SILENT_NODES } from './silent-nodes.ts'
import { wrongAnswers } from './wrong-answers.ts'

/** Every fault of a node that the program is known to meet. */
export function catalogue(chain: TrueChain): readonly Fault[] {
  return [...wrongAnswers(chain), ...SILENT_NODES, ...EXECUTION_FAULTS, ...BACKFILL_FAULTS, ...liveFaults(chain)]
}
