import type { Command } from 'commander'
import type { Setting } from '../setting.ts'
import type { PresignOptions } from './presign-exits.ts'
import type { ExportOptions, ImportOptions } from './run-keys.ts'

type Run = (command: (setting: Setting) => Promise<void>) => Promise<void>

/** Adds `keys` and what is below it. As everywhere, a command is loaded when it is called. No password is an argument. */
export function addKeyCommands(program: Command, run: Run): void {
  const keys = program.command('keys').description('keys of validators: export, import, presign exits, backup, restore')
  keys
    .command('export')
    .description('write EIP-2335 keystores and deposit_data.json into a new folder, for a validator client to run')
    .requiredOption('--validator <pubkeys...>', 'public keys of the validators')
    .requiredOption('--to <folder>', 'a folder that is not there yet, or empty')
    .option('--password-file <file>', 'holds the password; default: a random one, written beside the keystores')
    .option('--again', 'also keys that were exported before', false)
    .action((options: ExportOptions) =>
      run(async (setting) => (await import('./run-keys.ts')).exportKeys(setting, options)),
    )
  keys
    .command('import')
    .description('take the keys of EIP-2335 keystores into the vault')
    .argument('<folder>', 'has files keystore….json')
    .requiredOption('--account <name>', 'whose validators they are')
    .option('--chain <name>', 'chain that they are for; default: the only one with a beacon chain')
    .option('--password-file <file>', 'holds the password of all of them')
    .option('--password-env <NAME>', 'variable that holds it, while the program is stopped')
    .action((folder: string, options: ImportOptions) =>
      run(async (setting) => (await import('./run-keys.ts')).importKeys(setting, folder, options)),
    )
  keys
    .command('presign-exits')
    .description('sign exits that never expire, and write them into a new folder, encrypted to a public key')
    .requiredOption('--validator <pubkeys...>', 'public keys of the validators, which the registry has to know')
    .requiredOption('--account <name>', 'whose validators they are')
    .requiredOption('--recipient <file>', 'public key of P-256 that can open them: a JWK or PEM')
    .requiredOption('--to <folder>', 'a folder that is not there yet, or empty')
    .option('--chain <name>', 'chain that they are on; default: the only one with a beacon chain')
    .action((options: PresignOptions) =>
      run(async (setting) => (await import('./presign-exits.ts')).writePresignedExits(setting, options)),
    )
  keys
    .command('backup')
    .description('copy the vault, sealed as it is, into a new file; the program may run')
    .requiredOption('--to <file>', 'a file that is not there yet')
    .action((options: { to: string }) =>
      run(async (setting) => (await import('./run-keys.ts')).backupKeys(setting, options)),
    )
  keys
    .command('restore')
    .description('put a backup in the place of the vault, while no program has it; no key is ever made twice')
    .argument('<file>', 'what `keys backup` has written')
    .option('--loses-keys', 'also where the vault has keys that the backup lacks', false)
    .action((file: string, options: { losesKeys: boolean }) =>
      run(async (setting) => (await import('./run-keys.ts')).restoreKeys(setting, file, options)),
    )
}
