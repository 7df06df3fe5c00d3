import type { ChurnRules } from './eth/churn.ts'
import type { SweepRules } from './eth/withdrawal-sweep.ts'
import type { QueueRules } from './events/beacon-queues.ts'

// What the arithmetic of schemas/eth takes, of the parameters that an event carries.

export function toChurnRules(rules: QueueRules): ChurnRules {
  const { gloas } = rules
  return {
    incrementGwei: BigInt(rules.EFFECTIVE_BALANCE_INCREMENT),
    churnMinGwei: BigInt(rules.MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA),
    quotient: BigInt(rules.CHURN_LIMIT_QUOTIENT),
    activationExitMaxGwei: BigInt(rules.MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT),
    gloas:
      gloas === null
        ? undefined
        : {
            fromEpoch: gloas.GLOAS_FORK_EPOCH,
            quotient: BigInt(gloas.CHURN_LIMIT_QUOTIENT_GLOAS),
            consolidationQuotient: BigInt(gloas.CONSOLIDATION_CHURN_LIMIT_QUOTIENT),
            activationMaxGwei: BigInt(gloas.MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT_GLOAS),
          },
  }
}

export function toSweepRules(rules: QueueRules): SweepRules {
  return {
    perBlockMax: rules.MAX_WITHDRAWALS_PER_PAYLOAD,
    partialsPerBlockMax: rules.MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP,
    examinedPerBlockMax: rules.MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP,
  }
}

/** What a public key (hex with 0x) is found by in a queue: its first 8 bytes, 16 hex digits. */
export function prefixOfPubkey(pubkey: string): string {
  return pubkey.slice(2, 18)
}
