import { routes } from '@lodestar/api/beacon'
import { createChainForkConfig } from '@lodestar/config'
import { expect, test } from 'vitest'
import { matchRoute } from '../../schemas/protocols/match-route.ts'
import { protocolOf } from '../../schemas/protocols/protocols.ts'

// The Beacon API as a client of it has written it down, beside the gateway's list of what it serves.

const config = createChainForkConfig({})
const STANDARD = ['beacon', 'config', 'debug', 'events', 'lightclient', 'node', 'validator'] as const

/** Verb and path of each, with a star for a parameter. */
function operationsOf(namespace: (typeof STANDARD)[number] | 'lodestar' | 'proof'): string[] {
  const definitions: readonly { url: string; method: string }[] = Object.values(
    routes[namespace].getDefinitions(config),
  )
  return definitions.map(({ url, method }) => `${method} ${url.replace(/\{\w+\}|:\w+/g, '*')}`)
}

function isServed(operation: string): boolean {
  const [verb = '', path = ''] = operation.split(' ')
  const [service] = protocolOf('ethereum2')?.services ?? []
  if (service === undefined) throw new Error('no beacon service')
  return matchRoute(service, verb, path.replaceAll('*', '0xabc')) !== undefined
}

test('the Beacon API is served but for blocks and duties of validators that a node is set up for', () => {
  const operations = STANDARD.flatMap(operationsOf)
  expect(operations.length).toBeGreaterThan(80)
  expect(operations.filter((operation) => !isServed(operation)).toSorted()).toEqual([
    // Not of the standard.
    'GET /eth/v0/beacon/light_client/committee_root',
    'GET /eth/v0/debug/forkchoice',
    'GET /eth/v1/validator/attestation_data',
    'GET /eth/v1/validator/execution_payload_envelopes/*/*',
    'GET /eth/v1/validator/payload_attestation_data',
    'GET /eth/v1/validator/sync_committee_contribution',
    'GET /eth/v2/validator/aggregate_attestation',
    'GET /eth/v3/validator/blocks/*',
    'GET /eth/v4/validator/blocks/*',
    'POST /eth/v1/beacon/execution_payload_bids',
    'POST /eth/v1/beacon/execution_payload_envelopes',
    'POST /eth/v1/validator/beacon_committee_selections',
    'POST /eth/v1/validator/beacon_committee_subscriptions',
    'POST /eth/v1/validator/contribution_and_proofs',
    'POST /eth/v1/validator/prepare_beacon_proposer',
    'POST /eth/v1/validator/proposer_preferences',
    'POST /eth/v1/validator/register_validator',
    'POST /eth/v1/validator/sync_committee_selections',
    'POST /eth/v1/validator/sync_committee_subscriptions',
    'POST /eth/v2/beacon/blinded_blocks',
    'POST /eth/v2/validator/aggregate_and_proofs',
  ])
})

test("a client's own additions are not served", () => {
  const own = [...operationsOf('lodestar'), ...operationsOf('proof')]
  expect(own.length).toBeGreaterThan(20)
  expect(own.filter(isServed)).toEqual([])
})
