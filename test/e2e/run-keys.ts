import { expect } from 'vitest'
import type { DevnetChild } from './processes.ts'

/** Where blocks of the keys pay that the devnet's validator client has, lower-case hex; undefined while it lacks one of them. */
export async function recipientsOf(
  { keymanager: { url, token } }: Pick<DevnetChild, 'keymanager'>,
  pubkeys: readonly string[],
): Promise<readonly string[] | undefined> {
  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
    expect(response.status).toBe(200)
    return ((await response.json()) as { readonly data: unknown }).data
  }
  const listed = (await ask('/eth/v1/keystores')) as readonly { readonly validating_pubkey: string }[]
  const has = new Set(listed.map((one) => one.validating_pubkey))
  if (!pubkeys.every((pubkey) => has.has(pubkey))) return undefined
  const told = await Promise.all(pubkeys.map((pubkey) => ask(`/eth/v1/validator/${pubkey}/feerecipient`)))
  return (told as readonly { readonly ethaddress: string }[]).map(({ ethaddress }) => ethaddress)
}

/** The epoch from which on a validator is active, as the head has it. */
export async function activationEpochOf(
  { beaconUrl }: Pick<DevnetChild, 'beaconUrl'>,
  pubkey: string,
): Promise<number> {
  const response = await fetch(`${beaconUrl}/eth/v1/beacon/states/head/validators/${pubkey}`)
  const { data } = (await response.json()) as { readonly data: { readonly validator: { activation_epoch: string } } }
  return Number(data.validator.activation_epoch)
}

/** What validators were paid for their votes of an epoch, gwei: negative where nobody votes for them. */
export async function voteRewardsOf(
  { beaconUrl }: Pick<DevnetChild, 'beaconUrl'>,
  epoch: number,
  pubkeys: readonly string[],
): Promise<readonly number[]> {
  const response = await fetch(`${beaconUrl}/eth/v1/beacon/rewards/attestations/${epoch}`, {
    method: 'POST',
    body: JSON.stringify(pubkeys),
    headers: { 'content-type': 'application/json' },
  })
  const { data } = (await response.json()) as { readonly data: { readonly total_rewards: readonly VoteRewards[] } }
  expect(data.total_rewards).toHaveLength(pubkeys.length)
  return data.total_rewards.map(({ head, target, source }) => Number(head) + Number(target) + Number(source))
}

interface VoteRewards {
  readonly head: string
  readonly target: string
  readonly source: string
}
