import { openLocalKeyVault } from '../../infra/key-vault/open-local.ts'
import { announceKept } from '../../processors/validators/announce-kept.ts'
import { DepositedKeys } from '../../processors/validators/deposited-keys.ts'
import { RegisteredKeys } from '../../processors/validators/registered-keys.ts'
import { readStakingBook } from '../../processors/validators/staking-book.ts'
import { Turns } from '../../processors/validators/turns.ts'
import { UnfundedRoom } from '../../processors/validators/unfunded-room.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { allOrNone } from '../ingest-role.ts'
import type { Role } from '../role.ts'
import { whileLeased } from '../while-leased.ts'
import { broadcasting, followingStakings } from './broadcasting.ts'
import { creating } from './creating.ts'
import type { Custody, Duty } from './duty.ts'
import { exiting } from './exiting.ts'
import { handingOver } from './handing-over.ts'
import { keepingKeys } from './keeping-keys.ts'
import { labelling } from './labelling.ts'
import { VALIDATORS_LEASE } from './lease.ts'
import { quoting } from './quoting.ts'
import { openingChains, StakingChains } from './staking-chains.ts'
import { watchingVault } from './watching-vault.ts'

const DUTIES: readonly Duty[] = [
  creating,
  exiting,
  labelling,
  quoting,
  keepingKeys,
  watchingVault,
  broadcasting,
  followingStakings,
  handingOver,
]

/** Makes validators for accounts: the one role that has their keys. It talks to the nodes, to the log, and to the API by jobs. */
export const validatorsRole: Role = {
  name: 'validators',
  needs: ['eventLog', 'jobQueue'],
  decidesByFacts: true,
  async run(ports, running, signal) {
    const { eventLog } = ports
    const { log } = running
    log.debug({}, 'waits for the vault')
    await whileLeased(
      {
        ...{ eventLog, log, lease: VALIDATORS_LEASE, what: 'the work with the key vault' },
        onLost: (reason) => log.warn({ reason }, 'the right to use the vault is lost: asking for it again'),
      },
      async (lease, ending) => {
        await using vault = await retryWithBackoff({ log, signal: ending, what: 'the key vault' }, () =>
          openLocalKeyVault(running.config.vault),
        )
        if (vault === undefined) return
        log.debug({}, 'holds the vault')
        await using chains = new StakingChains(running, openingChains(running, ending))
        const book = await readStakingBook(eventLog, log, ending)
        await retryWithBackoff({ log, signal: ending, what: 'the telling of what the key vault has kept' }, () =>
          announceKept({ vault, writer: lease, book }, log),
        )
        const registered = new RegisteredKeys(eventLog, ending)
        const funded = new DepositedKeys({ registered, sent: book.sent })
        const room = new UnfundedRoom({ book, funded, rules: running.config.validators })
        const shared = { vault, lease, chains, book, registered, funded, room, handing: new Turns() }
        await doDuties({ ports, running, ...shared }, ending)
      },
      signal,
    )
  },
}

/** All of them side by side; the first that fails ends all. */
async function doDuties(custody: Custody, signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  await allOrNone(
    DUTIES.map((duty) => duty(custody, ending)),
    stop,
  )
}
