import { type Command, Option } from 'commander'
import { TOKEN_FAMILIES, TOKEN_SCOPES } from '../../schemas/access-token.ts'
import { ORDER_STATES } from '../../schemas/orders.ts'
import { WEBHOOK_KINDS } from '../../schemas/webhooks.ts'
import type { Setting } from '../setting.ts'
import type { tellFeeRecipients } from './fee-recipients.ts'
import type { listOrders } from './orders.ts'
import type { GuardOptions } from './settlement-guard.ts'
import type { correctSettlement } from './settlements.ts'
import type { createToken } from './tokens.ts'
import type { showUsage } from './usage.ts'
import type { createWebhook } from './webhooks.ts'

/** What the command line gives to commands: how one is run, and the option that names a chain. */
interface CommandLine {
  readonly run: (command: (setting: Setting) => Promise<void>) => Promise<void>
  readonly chainOption: () => Option
}

/** Adds `admin` and what is below it. As everywhere, a command is loaded when it is called. */
export function addAdminCommands(program: Command, line: CommandLine): void {
  const admin = program
    .command('admin')
    .description('accounts: tokens, validators, fee rates, settlements, webhooks, orders, usage')
  addAccountCommands(admin, line)
  addTokenCommands(admin, line)
  addValidatorCommands(admin, line)
  addFeeRateCommands(admin, line)
  addSettlementCommands(admin, line)
  addWebhookCommands(admin, line)
  addOrderCommands(admin, line)
  addUsageCommand(admin, line)
}

const yes = () => new Option('--yes', 'change settlements that were served already, once it was said how many')
const corrections = () =>
  new Option('--corrections', 'where locked settlements are in the way, print each command that corrects them')
const account = () => new Option('--account <name>', 'account name: a-z, 0-9, - and _').makeOptionMandatory()

function addAccountCommands(admin: Command, { run }: CommandLine): void {
  const accounts = admin.command('account').description('what operators have said of accounts')
  accounts
    .command('list')
    .description('a line for each account: validators, fee rate, tokens')
    .action(() => run(async (setting) => (await import('./accounts.ts')).listAccounts(setting)))
  accounts
    .command('show')
    .description('tokens, fee rates, validators of one account and where they are paid')
    .argument('<name>', 'name of the account')
    .action((name: string) => run(async (setting) => (await import('./accounts.ts')).showAccount(setting, name)))
  accounts
    .command('find')
    .description('the account of the mail address on standard input, of who made one at /account/v1')
    .action(() => run(async (setting) => (await import('./find-account.ts')).findAccount(setting)))
}

/** Names with commas between them; an option that is given again names more. */
function toList(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(',').map((name) => name.trim())]
}

function addTokenCommands(admin: Command, { run }: CommandLine): void {
  const token = admin.command('token').description('access tokens')
  token
    .command('create')
    .description('create an access token and print it, once, or send it by mail')
    .addOption(account())
    .option('--new', 'make the account with this token; without it the account has to be there', false)
    .option('--name <text>', 'what it is listed with: at most 64 printable characters')
    .option(
      '--scope <list>',
      `what it is for: ${TOKEN_SCOPES.join(', ')}, with commas between them; default: read`,
      toList,
    )
    .option('--family <list>', `only these: ${TOKEN_FAMILIES.join(', ')}; default: all, later ones too`, toList)
    .option('--chain <name>', 'only this chain; default: all, later ones too')
    .option('--allow-origin <list>', 'only from pages of these origins: https://app.example.org', toList)
    .option('--allow-ip <list>', 'only from these addresses and networks: 203.0.113.7,2001:db8::/32', toList)
    .option(
      '--allow-method <list>',
      'only these calls of the gateway, with * at the end for any rest: eth_get*',
      toList,
    )
    .option('--allow-contract <list>', 'only these contracts in calls of the gateway: 0x and 40 hex digits', toList)
    .option('--mail-to <address>', 'send it there, and do not print it')
    .action((options: Parameters<typeof createToken>[1]) =>
      run(async (setting) => (await import('./tokens.ts')).createToken(setting, options)),
    )
  token
    .command('list')
    .description(
      'tokens by the beginning of their hash: their names, what they are for, when they were created and revoked',
    )
    .option('--account <name>', 'only tokens of this account')
    .action((options: { account?: string }) =>
      run(async (setting) => (await import('./tokens.ts')).listTokens(setting, options.account)),
    )
  token
    .command('revoke')
    .description('revoke the access token that is read from standard input, or the one that --sha256 names')
    .option('--sha256 <beginning>', 'the beginning of its hash, as token list prints it: at least 8 hex digits')
    .action(({ sha256 }: { sha256?: string }) =>
      run(async (setting) => {
        const { revokeToken, revokeTokenOfHash } = await import('./tokens.ts')
        await (sha256 === undefined ? revokeToken(setting) : revokeTokenOfHash(setting, sha256))
      }),
    )
}

const PUBKEYS = [
  '[pubkeys...]',
  'BLS public keys; without any, one per line on standard input: with comments (#) and other columns',
] as const
const WATCH = 'only figures of all days, whosever the validators are; no settlements'

function addValidatorCommands(admin: Command, line: CommandLine): void {
  const { run, chainOption } = line
  const validators = admin.command('validators').description('whose validators are when, and where they are paid')
  addFeeRecipientCommand(validators, line)
  type Options = GuardOptions & { account: string; chain?: string; at?: string; watch?: boolean }
  validators
    .command('track')
    .description('make an account the owner of validators: their days and settlements are its own')
    .addOption(account())
    .addOption(chainOption())
    .option('--at <day>', 'first day, YYYY-MM-DD (UTC+8); default: all of history, of keys that nobody has had')
    .option('--watch', WATCH)
    .addOption(yes())
    .addOption(corrections())
    .argument(...PUBKEYS)
    .action((pubkeys: string[], options: Options) =>
      run(async (setting) => (await import('./validators.ts')).trackValidators(setting, options, pubkeys)),
    )
  validators
    .command('untrack')
    .description('make validators nobody’s from a day on; the account keeps what it had before')
    .addOption(account())
    .addOption(chainOption())
    .option('--at <day>', 'first day on which they are nobody’s, YYYY-MM-DD (UTC+8)')
    .option('--watch', 'the account no longer watches them')
    .addOption(yes())
    .addOption(corrections())
    .argument(...PUBKEYS)
    .action((pubkeys: string[], options: Options) =>
      run(async (setting) => (await import('./validators.ts')).untrackValidators(setting, options, pubkeys)),
    )
  validators
    .command('move')
    .description('give validators of one account to another from a day on')
    .requiredOption('--from <name>', 'the account that has them on that day')
    .requiredOption('--to <name>', 'the account that has them from that day on')
    .requiredOption('--at <day>', 'first day of the new owner, YYYY-MM-DD (UTC+8)')
    .addOption(chainOption())
    .addOption(yes())
    .addOption(corrections())
    .argument(...PUBKEYS)
    .action((pubkeys: string[], options: GuardOptions & { from: string; to: string; at: string; chain?: string }) =>
      run(async (setting) => (await import('./validators.ts')).moveValidators(setting, options, pubkeys)),
    )
}

type FeeRecipientOptions = Parameters<typeof tellFeeRecipients>[1]

function addFeeRecipientCommand(validators: Command, { run, chainOption }: CommandLine): void {
  validators
    .command('fee-recipient')
    .description('say at which address validators are paid for blocks: payments to it count, and what it sends is none')
    .option('--recipient <address>', 'the address, 0x and 40 hex digits; without it, beside each key on standard input')
    .option('--take-back', 'it is not theirs')
    .option('--from <day>', 'first day that it holds for, YYYY-MM-DD (UTC+8); default: all of history')
    .addOption(chainOption())
    .addOption(yes())
    .addOption(corrections())
    .argument(...PUBKEYS)
    .action((pubkeys: string[], options: FeeRecipientOptions) =>
      run(async (setting) => (await import('./fee-recipients.ts')).tellFeeRecipients(setting, options, pubkeys)),
    )
}

function addFeeRateCommands(admin: Command, { run }: CommandLine): void {
  const feeRate = admin.command('fee-rate').description('fee rates of an account')
  feeRate
    .command('set')
    .description('set the share of execution rewards that the service keeps')
    .addOption(account())
    .requiredOption('--rate <fraction>', 'decimal fraction from 0 to 1, e.g. 0.1')
    .option('--from <day>', 'first day that it applies to, YYYY-MM-DD (UTC+8); default: today')
    .addOption(yes())
    .addOption(corrections())
    .action((options: GuardOptions & { account: string; rate: string; from?: string }) =>
      run(async (setting) => (await import('./fee-rates.ts')).setFeeRate(setting, options)),
    )
  feeRate
    .command('list')
    .description('print every rate that was set, with when it begins and when it was said')
    .addOption(account())
    .action((options: { account: string }) =>
      run(async (setting) => (await import('./fee-rates.ts')).listFeeRates(setting, options)),
    )
}

function addSettlementCommands(admin: Command, { run, chainOption }: CommandLine): void {
  const settlements = admin.command('settlements').description('settled periods of an account')
  settlements
    .command('lock')
    .description('let nothing change the account’s settlements of the days up to one; there is no way back')
    .addOption(account())
    .requiredOption(
      '--through <day>',
      'last locked day, YYYY-MM-DD (UTC+8); it and all days before it have to be closed',
    )
    .action((options: { account: string; through: string }) =>
      run(async (setting) => (await import('./settlements.ts')).lockSettlements(setting, options)),
    )
  settlements
    .command('correct')
    .description(
      'write a settlement record of today with signed amounts, for what locked ones of a validator have wrong',
    )
    .addOption(account())
    .addOption(chainOption())
    .option('--user-reward <eth>', 'what the user’s share lacks, or has too much: --user-reward=-0.25', '0')
    .option('--service-fee <eth>', 'likewise of the service’s share', '0')
    .requiredOption('--reason <text>', 'why, for whoever reads the list')
    .option('--yes', 'write it, once it was said what it makes of the validator’s settled sums')
    .option('--again', 'write it though one with the same amounts and reason was written before')
    .argument('<pubkey>', 'the validator that it is about')
    .action((pubkey: string, options: Parameters<typeof correctSettlement>[1]) =>
      run(async (setting) => (await import('./settlements.ts')).correctSettlement(setting, options, pubkey)),
    )
  settlements
    .command('list')
    .description('print locks and corrections')
    .option('--account <name>', 'only of this account')
    .action((options: { account?: string }) =>
      run(async (setting) => (await import('./settlements.ts')).listSettlementFacts(setting, options)),
    )
}

const force = () =>
  new Option('--force', 'whether or not a node is well: it may be that only the program can reach them')
const ORDER_ID = ['<id>', 'as list prints it'] as const

function addOrderCommands(admin: Command, { run }: CommandLine): void {
  const order = admin.command('order').description('dedicated nodes and hosted validators that customers order')
  order
    .command('list')
    .description('a line for each: what was ordered, how it stands, when it ends')
    .option('--account <name>', 'only orders of this account')
    .addOption(new Option('--state <state>', 'only orders that stand so').choices(ORDER_STATES))
    .action((options: Parameters<typeof listOrders>[1]) =>
      run(async (setting) => (await import('./orders.ts')).listOrders(setting, options)),
    )
  order
    .command('accept')
    .description('say that it is paid')
    .option('--days <n>', 'that are paid; default: as many as it was for')
    .argument(...ORDER_ID)
    .action((id: string, options: { days?: string }) =>
      run(async (setting) => (await import('./orders.ts')).acceptOrder(setting, id, options)),
    )
  order
    .command('provision')
    .description('say that somebody works on its nodes')
    .argument(...ORDER_ID)
    .action((id: string) => run(async (setting) => (await import('./orders.ts')).provisionOrder(setting, id)))
  order
    .command('start')
    .description(
      'have its paid time begin, once gateway.orders of the configuration names its upstreams and one is well',
    )
    .addOption(force())
    .argument(...ORDER_ID)
    .action((id: string, options: { force?: boolean }) =>
      run(async (setting) => (await import('./orders.ts')).startOrder(setting, id, options)),
    )
  order
    .command('extend')
    .description('say that it is paid for longer, while it runs or shortly after; its keys work as much longer')
    .requiredOption('--days <n>', 'that are paid in all, from when it began to run')
    .addOption(force())
    .argument(...ORDER_ID)
    .action((id: string, options: { days: string; force?: boolean }) =>
      run(async (setting) => (await import('./orders.ts')).extendOrder(setting, id, options)),
    )
  order
    .command('cancel')
    .description('end it for good, in whatever state it is; its keys stop working')
    .option('--yes', 'one that is paid, too, once it was said what ends')
    .argument(...ORDER_ID)
    .action((id: string, options: { yes?: boolean }) =>
      run(async (setting) => (await import('./orders.ts')).cancelOrder(setting, id, options)),
    )
}

function addUsageCommand(admin: Command, { run }: CommandLine): void {
  admin
    .command('usage')
    .description('what keys were used for, by account and network: calls, success, time, what was billed, bytes')
    .option('--account <name>', 'only of this account')
    .option('--from <day>', 'first day, YYYY-MM-DD (UTC+8); default: today')
    .option('--to <day>', 'last day; default: today')
    .option('--json', 'print one JSON value', false)
    .action((options: Parameters<typeof showUsage>[1]) =>
      run(async (setting) => (await import('./usage.ts')).showUsage(setting, options)),
    )
}

function addWebhookCommands(admin: Command, { run }: CommandLine): void {
  const webhook = admin
    .command('webhook')
    .description('servers of customers that are told what happens to their validators')
  webhook
    .command('create')
    .description('tell a server from now on; prints its id and, once, the secret of its signatures')
    .addOption(account())
    .requiredOption('--url <address>', 'where messages are posted: https, a public address')
    .option(
      '--kind <list>',
      `what it is told: ${WEBHOOK_KINDS.join(', ')}, with commas between them; default: all`,
      toList,
    )
    .action((options: Parameters<typeof createWebhook>[1]) =>
      run(async (setting) => (await import('./webhooks.ts')).createWebhook(setting, options)),
    )
  webhook
    .command('list')
    .description(
      'a line for each: its server, what it is told, how many messages it has had, has not yet and will not have',
    )
    .option('--account <name>', 'only webhooks of this account')
    .action((options: { account?: string }) =>
      run(async (setting) => (await import('./webhooks.ts')).listWebhooks(setting, options.account)),
    )
  webhook
    .command('revoke')
    .description('tell a server nothing any more')
    .argument('<id>', 'as create has printed it')
    .action((id: string) => run(async (setting) => (await import('./webhooks.ts')).revokeWebhook(setting, id)))
}
