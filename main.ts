// The command line: the configuration is read once, here; commands/ opens the ports and wires the rooms. A command is loaded when
// it is called: all of them together take seconds to load, and most need little.

import { Command, CommanderError, Option } from 'commander'
import { pino } from 'pino'
import { addAdminCommands } from './commands/admin/admin.ts'
import { addKeyCommands } from './commands/keys/keys.ts'
import type { Setting } from './commands/setting.ts'
import { loadConfig } from './infra/config/config.ts'
import type { ConfigSource, FlagName } from './infra/config/layers.ts'
import { prepareDataDirectory, requireEventLog } from './infra/data-directory.ts'
import { prepareRuntime } from './infra/runtime.ts'
import { openScreen } from './infra/screen.ts'
import packageJson from './package.json' with { type: 'json' }
import { AppError } from './schemas/errors.ts'
import { FAMILIES } from './schemas/tables/projections.ts'
import { isAbortOf } from './schemas/wait.ts'

prepareRuntime()

const EXIT_FAILED = 1
const EXIT_USAGE = 2
/** One Ctrl-C reaches us from the terminal and again from npm or the parent process that passes it on. */
const SAME_SIGNAL_MS = 1_000

/** Of commands that may begin a log; others on a folder without one were given a wrong folder. */
const MAKES_LOG = { makesLog: true, needsLog: false }
/** Of commands that ask the devnet, which may run without one. */
const WITHOUT_LOG = { makesLog: false, needsLog: false }
const NEEDS_LOG = { makesLog: false, needsLog: true }

const screen = openScreen()

/** Of commands that work on one chain. */
const chainOption = () => new Option('--chain <name>', 'chain to work on; default: the only one with a beacon chain')

const program = new Command('epochline')
  .exitOverride() // before the commands, which inherit it
  .description('Staking rewards that prove themselves: chain -> event log -> ClickHouse -> REST and GraphQL.')
  .version(packageJson.version)
  .option('--port <number>', 'where the API listens; before PORT')
  .option('--data <folder>', 'everything that is kept on disk; before EPOCHLINE_DATA')
  .option('--config <file>', 'the configuration file; before EPOCHLINE_CONFIG')
  .configureHelp({ showGlobalOptions: true })
  .addHelpText(
    'after',
    '\nConfiguration comes from these options, environment variables, .env and epochline.yaml: see README.md. Without any, everything runs here, on a devnet.',
  )

program
  .command('all', { isDefault: false })
  .description('everything in this process; without BEACON_URL on the built-in devnet')
  .action(() =>
    run(
      (setting) => runRolesOf(setting, ['ingest', 'process', 'api', 'validators', 'webhooks', 'metadata', 'users']),
      MAKES_LOG,
    ),
  )
program
  .command('ingest')
  .description('chain -> event log')
  .action(() => run((setting) => runRolesOf(setting, ['ingest']), MAKES_LOG))
program
  .command('process')
  .description('event log -> warehouse')
  .action(() => run((setting) => runRolesOf(setting, ['process'])))
program
  .command('api')
  .description('serve REST and GraphQL from the warehouse')
  .action(() => run((setting) => runRolesOf(setting, ['api'])))
program
  .command('validators')
  .description('make keys of validators for accounts, and keep them: the one role that has the vault')
  .action(() => run((setting) => runRolesOf(setting, ['validators'])))
program
  .command('webhooks')
  .description('tell the servers of customers what happens to their validators: the one role that calls them')
  .action(() => run((setting) => runRolesOf(setting, ['webhooks'])))
program
  .command('metadata')
  .description('read what tokens are called and look like: the one role that asks servers that contracts name')
  .action(() => run((setting) => runRolesOf(setting, ['metadata'])))
program
  .command('users')
  .description('decide about accounts that people make themselves: one process at a time, which the API asks')
  .action(() => run((setting) => runRolesOf(setting, ['users'])))
const devnet = program
  .command('devnet')
  .description('run the built-in Ethereum devnet alone: Beacon API and JSON-RPC on loopback')
  .action(() => run(async (setting) => (await import('./commands/devnet.ts')).runDevnetCommand(setting), MAKES_LOG))
devnet
  .command('advance')
  .description('lead the running devnet through time-lapse; its clock stays ahead by that')
  .option('--epochs <number>', 'so many epochs; with a validator, at most so many')
  .option('--validator <public key>', 'until this validator is there')
  .option('--until <status>', 'the status that it has then; default: withdrawal_done')
  .action((options: { epochs?: string; validator?: string; until?: string }) =>
    run(async (setting) => (await import('./commands/devnet-advance.ts')).advanceDevnet(setting, options), WITHOUT_LOG),
  )
devnet
  .command('reorg')
  .description("have the running devnet's second chain take back its newest blocks: others come in their place")
  .requiredOption('--depth <blocks>', 'how many: 1 to 60')
  .action((options: { depth: string }) =>
    run(async (setting) => (await import('./commands/devnet-reorg.ts')).reorgDevnet(setting, options), WITHOUT_LOG),
  )
program
  .command('backfill')
  .description(
    'ingest the past: finalized epochs for all tracked validators, or a range of execution blocks; resumes where it was interrupted',
  )
  .requiredOption('--from <start>', 'first slot:N, epoch:N or YYYY-MM-DD (UTC+8); or block:N, for tokens')
  .requiredOption('--to <end>', 'last one, inclusive: a block ends with a block')
  .option('--plan', 'only ask the nodes whether they have what it takes, and print what would be read', false)
  .addOption(chainOption())
  .action((range: { from: string; to: string; plan: boolean; chain?: string }) =>
    run(async (setting) => (await import('./commands/backfill.ts')).runBackfill(setting, range)),
  )
program
  .command('gaps')
  .description('the epochs of which the log lacks something for tracked validators; exits with 1 where there are any')
  .option('--from <start>', 'first epoch:N, slot:N or YYYY-MM-DD (UTC+8); default: the first that the log has')
  .option('--to <end>', 'last one, inclusive; default: the last that the log has')
  .option('--repair', 'read what is lacking, as a backfill does; what is refused is told and passed over', false)
  .addOption(chainOption())
  .action((options: { from?: string; to?: string; repair: boolean; chain?: string }) =>
    run(async (setting) => (await import('./commands/gaps.ts')).runGaps(setting, options)),
  )
program
  .command('repair')
  .description('take back what the log has of a chain and the final chain has not; what was taken back is read again')
  .option('--from-epoch <epoch>', 'read all epochs from this one on again; default: from the first that is not final')
  .option('--yes', 'do it: served figures change', false)
  .option('--even-locked', 'days of locked settlements, too: what a lock keeps stays, and is corrected beside', false)
  .addOption(chainOption())
  .action((options: { fromEpoch?: string; yes: boolean; evenLocked: boolean; chain?: string }) =>
    run(async (setting) => (await import('./commands/repair.ts')).runRepair(setting, options)),
  )
program
  .command('rebuild')
  .description('build the tables anew from the event log, beside the live ones, and put them in their place')
  .option('--chain <name>', 'only the rows of this chain')
  .option('--family <name>', `only the tables of this family: ${Object.keys(FAMILIES).join(', ')}`)
  .action((options: { chain?: string; family?: string }) =>
    run(async (setting) => (await import('./commands/rebuild.ts')).runRebuild(setting, options)),
  )
program
  .command('verify')
  .description(
    'prove every tracked validator and day: rewards + flows = balance change, and that the tables have what the log has; exits with 1 on any difference',
  )
  .option('--quiet', 'print differences and totals only', false)
  .option('--chain <name>', 'only figures of this chain')
  .action((options: { quiet: boolean; chain?: string }) =>
    run(async (setting) => (await import('./commands/verify.ts')).runVerify(setting, options)),
  )

program
  .command('status')
  .description('where everything stands: chains and their lag, closed days and gaps, jobs, nodes, dead letters')
  .option('--json', 'print one JSON value', false)
  .action((options: { json: boolean }) =>
    run(async (setting) => (await import('./commands/status.ts')).runStatus(setting, options)),
  )

const config = program.command('config').description('the configuration: epochline.yaml and the environment')
config
  .command('check')
  .description('read everything and look every reference up; prints each mistake by its place, and exits with 2 then')
  .action(() => report(async () => screen.print((await import('./commands/config.ts')).checkConfig(configSource()))))
config
  .command('show')
  .description('print every setting that is in force and where it comes from; secrets are blanked')
  .action(() => report(async () => screen.print((await import('./commands/config.ts')).showConfig(configSource()))))

program
  .command('chain')
  .description('chains of the event log')
  .command('remove')
  .description('take back everything that was ingested of a chain that is paused or no longer configured')
  .argument('<name>', 'name of the chain, e.g. scroll_mainnet')
  .option('--even-locked', 'though settlements are locked: what a lock keeps stays on record', false)
  .action((name: string, options: { evenLocked: boolean }) =>
    run(async (setting) => (await import('./commands/chain.ts')).removeChain(setting, name, options)),
  )

addAdminCommands(program, { run, chainOption })
addKeyCommands(program, run)

/** Where all settings come from: the options were read with the command. */
function configSource(): ConfigSource {
  return { env: process.env, flags: program.opts<Partial<Record<FlagName, string>>>(), envFile: '.env' }
}

const ROLES = {
  ingest: async () => (await import('./commands/ingest-role.ts')).ingestRole,
  process: async () => (await import('./commands/process-role.ts')).processRole,
  api: async () => (await import('./commands/api-role.ts')).apiRole,
  validators: async () => (await import('./commands/validators/role.ts')).validatorsRole,
  webhooks: async () => (await import('./commands/webhooks/role.ts')).webhooksRole,
  metadata: async () => (await import('./commands/metadata/role.ts')).metadataRole,
  users: async () => (await import('./commands/users/role.ts')).usersRole,
}

async function runRolesOf(setting: Setting, names: readonly (keyof typeof ROLES)[]): Promise<void> {
  const { runRoles } = await import('./commands/run-roles.ts')
  await runRoles(setting, await Promise.all(names.map((name) => ROLES[name]())))
}

/** Does something and reports how it ended; an AppError is sentences, anything else a crash with its stack. */
async function report(action: () => Promise<void> | void, signal?: AbortSignal): Promise<void> {
  try {
    await action()
  } catch (error) {
    if (signal !== undefined && isAbortOf(signal, error)) {
      process.stderr.write('epochline: Interrupted before it was done.\n')
      process.exitCode = EXIT_FAILED
      return
    }
    if (!(error instanceof AppError)) throw error
    for (const sentence of error.message.split('\n')) process.stderr.write(`epochline: ${sentence}\n`)
    // What is refused of a command that was ended is not for how it was used.
    const isUsage = (error.code === 'config' || error.code === 'usage') && signal?.aborted !== true
    process.exitCode = isUsage ? EXIT_USAGE : EXIT_FAILED
  }
}

/** Runs one command with what every command works with, and reports how it ended. */
async function run(command: (setting: Setting) => Promise<void>, { makesLog, needsLog } = NEEDS_LOG): Promise<void> {
  const stop = new AbortController()
  let stoppedAtMs = Number.POSITIVE_INFINITY
  const onSignal = (): void => {
    if (performance.now() - stoppedAtMs > SAME_SIGNAL_MS) process.exit(EXIT_FAILED) // the second Ctrl-C does not wait
    if (stop.signal.aborted) return
    stoppedAtMs = performance.now()
    stop.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    await report(async () => {
      const { config, notes } = loadConfig(configSource())
      const log = pino({ name: 'epochline', level: config.logLevel }, screen.log)
      for (const note of notes) log.warn({}, note)
      if (makesLog && (config.mode.kind === 'embedded' || config.devnet !== undefined)) {
        await prepareDataDirectory(config.dataDirectory)
      }
      if (needsLog && config.mode.kind === 'embedded') requireEventLog(config.mode.eventLogFile)
      await command({ config, log, screen, readAgain: () => loadConfig(configSource()).config, signal: stop.signal })
    }, stop.signal)
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

try {
  await program.parseAsync()
} catch (error) {
  // Commander has printed its sentence, the help or the version.
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE
}
