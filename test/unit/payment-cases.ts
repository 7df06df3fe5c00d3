import type { GivenTransaction } from './execution-columns.ts'

// Blocks by hand, and what they have paid their proposer: figures are written down, and made by nobody's rule.

const address = (kind: string): string => `0x${kind.repeat(20)}`
/** Where the operator says that the proposer is paid, and what its withdrawal credentials name. */
export const [OWN, CREDITED] = [address('a1'), address('a2')]
/** Makes blocks, and a wallet of its own beside that. */
const [BUILDER, WALLET] = [address('b1'), address('b2')]
/** Somebody, and a contract that passes on what it gets. */
const [STRANGER, FORWARDER] = [address('c1'), address('c2')]
export const DEPOSIT_CONTRACT = address('d1')
/** What the proposer was made with, where it was made here. */
export const REGISTERED = address('e1')
const ZERO = address('00')

export const BASE_FEE_WEI = 100n
/** Two ordinary transactions begin each block: 2 wei above the base fee for 21,000 gas each. */
const TIPS = '84000'
/** A payment costs 2,100,000 wei of gas. */
const PAID = 5_000_000n
const ORDINARY_WEI = 102n

const ordinary: GivenTransaction = { sender: STRANGER, recipient: FORWARDER, priceWei: ORDINARY_WEI }
const sends = (
  sender: string,
  recipient: string | null,
  valueWei = PAID,
  more: GivenTransaction = {},
): GivenTransaction => ({
  ...{ sender, recipient, valueWei, priceWei: BASE_FEE_WEI },
  ...more,
})
/** A call that runs code, or makes a contract. */
const RUNS_CODE = { gasUsed: 40_000n } as const
const FAILED = { succeeded: false } as const
const WITH_TIP = { priceWei: ORDINARY_WEI } as const

export interface GivenBalance {
  readonly address: string
  readonly before: bigint
  readonly after: bigint
}

export interface GivenClaim {
  readonly valueWei: bigint
  /** Of another validator than the proposer. */
  readonly ofAnother?: true
}

export interface PaymentCase {
  /** Why it is so. */
  readonly reason: string
  readonly coinbase: string
  /** After two ordinary ones; `only` are all there are. */
  readonly adds?: readonly GivenTransaction[]
  readonly only?: readonly GivenTransaction[]
  readonly extraData?: string
  readonly balances?: readonly GivenBalance[]
  readonly withdrawnGwei?: readonly { readonly address: string; readonly amountGwei: bigint }[]
  readonly claims?: readonly GivenClaim[]
  /** What the operator told: `OWN`, if it is not said. */
  readonly told?: readonly string[]
  readonly created?: true
  readonly expected: {
    readonly class: string
    readonly revenue: string
    /** The revenue, if it is not said. */
    readonly claimed?: string
    readonly recipient: string
    readonly contradicted?: true
  }
}

const local = (revenue: string, recipient = OWN) => ({ class: 'local', revenue, recipient })
const paid = (revenue: string, recipient = OWN) => ({ class: 'builder_payment', revenue, recipient })
const asCoinbase = (revenue: string) => ({ class: 'coinbase_is_proposer', revenue, recipient: OWN })
const direct = (revenue: string) => ({ class: 'direct_transfers', revenue, recipient: OWN })
const unexplained = (claimed: string, recipient: string) => ({ class: 'unexplained', revenue: '0', claimed, recipient })

const LOCAL: readonly PaymentCase[] = [
  { reason: 'nobody paid: the tips are the proposer’s, whose coinbase it is', coinbase: OWN, expected: local(TIPS) },
  {
    reason: 'an empty block of its own has no tips: that is known to be nothing',
    ...{ coinbase: OWN, only: [], expected: local('0') },
  },
  {
    reason: 'what fails pays its tip, too',
    ...{ coinbase: OWN, adds: [{ ...ordinary, ...FAILED }], expected: local('126000') },
  },
  {
    reason: 'what the proposer itself sends in the last transaction is its own business',
    ...{ coinbase: OWN, adds: [sends(OWN, STRANGER)], expected: local(TIPS) },
  },
  {
    reason: 'and so is what it moves between its own addresses',
    ...{ coinbase: OWN, adds: [sends(OWN, CREDITED)], expected: local(TIPS) },
  },
  {
    reason: 'an ordinary transfer to it, which pays a tip, is somebody’s and no revenue',
    ...{ coinbase: OWN, adds: [sends(STRANGER, OWN, PAID, WITH_TIP)], expected: local('126000') },
  },
  {
    reason: 'a contract that pays it may pay it for anything: without a relay’s word only tips count',
    ...{ coinbase: OWN, balances: [{ address: OWN, before: 0n, after: 7_084_000n }], expected: local(TIPS) },
  },
  {
    reason: 'the withdrawal address is its own, though the operator never told it',
    ...{ coinbase: CREDITED, expected: local(TIPS, CREDITED) },
  },
  {
    reason: 'of whom nothing was told, a coinbase that pays nobody is taken for its own',
    ...{ coinbase: BUILDER, told: [], expected: local(TIPS, BUILDER) },
  },
  {
    reason: 'tips above 2^64 wei are exact',
    ...{
      coinbase: OWN,
      only: [{ ...ordinary, priceWei: 100n + 2n ** 60n }],
      expected: local('24211351596743786496000'),
    },
  },
]

const BUILDERS: readonly PaymentCase[] = [
  {
    reason: 'the coinbase pays in the last transaction, and keeps the tips',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, OWN)], expected: paid('5000000') },
  },
  {
    reason: 'the refund behind it takes nothing from the payment, and is not in its place',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, OWN), sends(BUILDER, STRANGER, 900n)], expected: paid('5000000') },
  },
  {
    reason: 'refunds of a builder to several, behind it',
    coinbase: BUILDER,
    adds: [sends(BUILDER, OWN), sends(BUILDER, STRANGER, 900n), sends(BUILDER, WALLET, 800n)],
    expected: paid('5000000'),
  },
  {
    reason: 'the coinbase pays in the first transaction',
    ...{ coinbase: BUILDER, only: [sends(BUILDER, OWN), ordinary, ordinary], expected: paid('5000000') },
  },
  {
    reason: 'two payments are one revenue',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, OWN), sends(BUILDER, OWN, 3n)], expected: paid('5000003') },
  },
  { reason: 'one wei is what it is', coinbase: BUILDER, adds: [sends(BUILDER, OWN, 1n)], expected: paid('1') },
  {
    reason: 'a payment above 2^64 wei is exact',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, OWN, 2n ** 70n + 1n)], expected: paid('1180591620717411303425') },
  },
  {
    reason: 'a payment that ran into a contract of the proposer’s own counts whole',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, OWN, PAID, RUNS_CODE)], expected: paid('5000000') },
  },
  {
    reason: 'it pays the withdrawal address of whom nothing was told',
    ...{ coinbase: BUILDER, told: [], adds: [sends(BUILDER, CREDITED)], expected: paid('5000000', CREDITED) },
  },
  {
    reason: 'it pays the address that the validator was made with',
    ...{ coinbase: BUILDER, told: [], created: true, adds: [sends(BUILDER, REGISTERED)] },
    expected: paid('5000000', REGISTERED),
  },
  {
    reason: 'another wallet pays in the last transaction, without a tip: only whoever made the block lets that in',
    ...{ coinbase: BUILDER, adds: [sends(WALLET, OWN)], expected: paid('5000000') },
  },
  {
    reason: 'another wallet pays in the last but one, and a refund follows',
    ...{
      coinbase: BUILDER,
      adds: [sends(WALLET, OWN), sends(WALLET, STRANGER, 3_000_000n)],
      expected: paid('5000000'),
    },
  },
  {
    reason: 'another wallet pays with a tip, and a relay names the same wei',
    coinbase: BUILDER,
    adds: [sends(WALLET, OWN, PAID, WITH_TIP)],
    claims: [{ valueWei: PAID }],
    expected: paid('5000000'),
  },
  {
    reason: 'beside the payment of the coinbase, what another wallet sends is somebody’s',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, OWN), sends(WALLET, OWN, 4_000_000n)], expected: paid('5000000') },
  },
  {
    reason: 'beside a payment, what contracts let arrive is somebody’s',
    coinbase: BUILDER,
    adds: [sends(BUILDER, FORWARDER, 3_000_000n, RUNS_CODE), sends(BUILDER, OWN)],
    balances: [{ address: OWN, before: 10n, after: 8_000_010n }],
    expected: paid('5000000'),
  },
  {
    reason: 'unless a relay names the sum to the wei',
    coinbase: BUILDER,
    adds: [sends(BUILDER, FORWARDER, 3_000_000n, RUNS_CODE), sends(BUILDER, OWN)],
    balances: [{ address: OWN, before: 10n, after: 8_000_010n }],
    claims: [{ valueWei: 8_000_000n }],
    expected: paid('8000000'),
  },
  {
    reason:
      'a relay that claims more, as where a user’s transfer is in its balance difference, changes nothing and is shown',
    coinbase: BUILDER,
    adds: [sends(BUILDER, OWN)],
    claims: [{ valueWei: PAID }, { valueWei: 32_000_000_000_005_000_000n }],
    expected: { ...paid('5000000'), contradicted: true },
  },
  {
    reason: 'a relay that claims the same is no contradiction',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, OWN)], claims: [{ valueWei: PAID }], expected: paid('5000000') },
  },
  {
    reason: 'a relay that names another proposer contradicts',
    coinbase: BUILDER,
    adds: [sends(BUILDER, OWN)],
    claims: [{ valueWei: PAID, ofAnother: true }],
    expected: { ...paid('5000000'), contradicted: true },
  },
]

const OWN_COINBASE: readonly PaymentCase[] = [
  {
    reason: 'a builder is named and nobody paid: the builder left the tips to the proposer’s coinbase',
    ...{ coinbase: OWN, extraData: 'Titan (titanbuilder.xyz)', expected: asCoinbase(TIPS) },
  },
  {
    reason: 'a relay has delivered it for the tips',
    ...{ coinbase: OWN, claims: [{ valueWei: 84_000n }], expected: asCoinbase(TIPS) },
  },
  {
    reason: 'tips and a transfer without a tip at the end: both are the proposer’s',
    ...{ coinbase: OWN, adds: [sends(WALLET, OWN)], expected: asCoinbase('5084000') },
  },
  {
    reason: 'a relay that counts the transfer and not the tips says the same',
    ...{ coinbase: OWN, adds: [sends(WALLET, OWN)], claims: [{ valueWei: PAID }], expected: asCoinbase('5084000') },
  },
  {
    reason: 'a relay that claims less than tips and transfer is shown',
    coinbase: OWN,
    adds: [sends(WALLET, OWN)],
    claims: [{ valueWei: 1n }],
    expected: { ...asCoinbase('5084000'), contradicted: true },
  },
  {
    reason: 'searchers’ contracts pay the coinbase, and a relay names tips and transfers to the wei',
    coinbase: OWN,
    balances: [{ address: OWN, before: 5n, after: 7_084_005n }],
    claims: [{ valueWei: 7_084_000n }],
    expected: direct('7084000'),
  },
]

const THROUGH_CONTRACTS: readonly PaymentCase[] = [
  {
    reason: 'a contract passes the payment on: the balance grew by it',
    coinbase: BUILDER,
    adds: [sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 1_000n, after: 5_001_000n }],
    expected: direct('5000000'),
  },
  {
    reason: 'a contract that was made for it passes it on',
    coinbase: BUILDER,
    adds: [sends(BUILDER, null, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 0n, after: 5_000_000n }],
    expected: direct('5000000'),
  },
  {
    reason: 'another wallet’s contract, without a tip at the end',
    coinbase: BUILDER,
    adds: [sends(WALLET, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 0n, after: 5_000_000n }],
    expected: direct('5000000'),
  },
  {
    reason: 'the contract keeps a part: what arrives counts',
    coinbase: BUILDER,
    adds: [sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 0n, after: 4_500_000n }],
    expected: direct('4500000'),
  },
  {
    reason: 'more arrives than the builder has sent: the rest is somebody’s',
    coinbase: BUILDER,
    adds: [sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 0n, after: 9_000_000n }],
    expected: direct('5000000'),
  },
  {
    reason: 'unless a relay names it to the wei',
    coinbase: BUILDER,
    adds: [sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 0n, after: 9_000_000n }],
    claims: [{ valueWei: 9_000_000n }],
    expected: direct('9000000'),
  },
  {
    reason: 'a withdrawal of the beacon chain in the block is taken off the difference',
    coinbase: BUILDER,
    adds: [sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 0n, after: 17_002_500_000n }],
    withdrawnGwei: [
      { address: OWN, amountGwei: 17n },
      { address: STRANGER, amountGwei: 5n },
    ],
    expected: direct('2500000'),
  },
  {
    reason: 'what the recipient itself has sent and burnt in the block is added to it',
    coinbase: BUILDER,
    only: [sends(OWN, STRANGER, 700n, WITH_TIP), sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 10_000_000n, after: 12_857_300n }],
    expected: direct('5000000'),
  },
  {
    reason: 'what somebody has sent it by a transaction is taken off',
    coinbase: BUILDER,
    only: [sends(STRANGER, OWN, 700n, WITH_TIP), ordinary, sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 0n, after: 5_000_700n }],
    expected: direct('5000000'),
  },
  {
    reason: 'no node tells the balances: what was sent is a claim',
    coinbase: BUILDER,
    adds: [sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    expected: unexplained('5000000', FORWARDER),
  },
  {
    reason: 'a recipient that has sent blobs has a balance that the block does not explain',
    coinbase: BUILDER,
    only: [{ ...sends(OWN, STRANGER, 0n), type: 3 }, ordinary, sends(BUILDER, FORWARDER, PAID, RUNS_CODE)],
    balances: [{ address: OWN, before: 9_000_000n, after: 11_900_000n }],
    expected: unexplained('5000000', FORWARDER),
  },
  {
    reason: 'it arrives, and nobody who made the block has sent it: a claim',
    coinbase: BUILDER,
    balances: [{ address: OWN, before: 0n, after: 6_000_000n }],
    expected: unexplained('6000000', OWN),
  },
]

const DOUBTFUL: readonly PaymentCase[] = [
  {
    reason: 'a stranger’s coinbase and no payment: whether the proposer had the tips is not known',
    ...{ coinbase: BUILDER, expected: unexplained(TIPS, BUILDER) },
  },
  {
    reason: 'a payment that failed has paid nothing',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, OWN, PAID, FAILED)], expected: unexplained('5000000', OWN) },
  },
  {
    reason: 'the coinbase pays somebody whom nobody told',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, STRANGER)], expected: unexplained('5000000', STRANGER) },
  },
  {
    reason: 'what is sent to nobody pays nobody',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, ZERO)], expected: unexplained(TIPS, BUILDER) },
  },
  {
    reason: 'a deposit pays nobody',
    ...{ coinbase: BUILDER, adds: [sends(BUILDER, DEPOSIT_CONTRACT)], expected: unexplained(TIPS, BUILDER) },
  },
  {
    reason: 'another wallet pays with a tip, as anybody does: a claim, never tips',
    coinbase: BUILDER,
    adds: [sends(WALLET, OWN, PAID, WITH_TIP)],
    expected: unexplained('5000000', OWN),
  },
  {
    reason: 'what is worth less than its gas is spam',
    ...{ coinbase: BUILDER, adds: [sends(WALLET, OWN, 1n)], expected: unexplained(TIPS, BUILDER) },
  },
  {
    reason: 'of whom nothing was told, a payment to somebody is a claim',
    ...{ coinbase: BUILDER, told: [], adds: [sends(BUILDER, STRANGER)], expected: unexplained('5000000', STRANGER) },
  },
  {
    reason: 'of whom nothing was told, a block that names a builder shows no coinbase of the proposer’s',
    coinbase: BUILDER,
    told: [],
    extraData: 'beaverbuild.org',
    expected: unexplained(TIPS, BUILDER),
  },
  {
    reason: 'a relay names a value and the chain shows none: a claim, told apart',
    coinbase: BUILDER,
    claims: [{ valueWei: 6n }],
    expected: { class: 'relay_only', revenue: '0', claimed: '6', recipient: OWN },
  },
  {
    reason: 'of two relays the higher claim is shown',
    coinbase: BUILDER,
    claims: [{ valueWei: 6n }, { valueWei: 4n }],
    expected: { class: 'relay_only', revenue: '0', claimed: '6', recipient: OWN },
  },
]

export const PAYMENT_CASES: readonly PaymentCase[] = [
  ...LOCAL,
  ...BUILDERS,
  ...OWN_COINBASE,
  ...THROUGH_CONTRACTS,
  ...DOUBTFUL,
].map((one) => ({ ...one, adds: one.only ?? [ordinary, ordinary, ...(one.adds ?? [])] }))
