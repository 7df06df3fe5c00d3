import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

interface Solc {
  version(): string
  compile(standardJson: string, callbacks: { import(path: string): { contents: string } | { error: string } }): string
}

interface CompiledContract {
  readonly abi: unknown[]
  readonly evm: {
    readonly bytecode: { readonly object: string }
    readonly deployedBytecode: { readonly object: string }
  }
}

interface SolcOutput {
  readonly errors?: readonly {
    readonly severity: string
    readonly formattedMessage: string
    readonly sourceLocation?: { readonly file: string }
  }[]
  readonly contracts?: Readonly<Record<string, Readonly<Record<string, CompiledContract>>>>
}

/** What is kept of one contract: creation code, and the code that a genesis block holds (no immutables, no constructor). */
export interface Artifact {
  readonly source: string
  readonly sourceSha256: string
  readonly abi: unknown[]
  readonly bytecode: `0x${string}`
  readonly deployedBytecode: `0x${string}`
}

export interface Artifacts {
  readonly compiler: string
  readonly contracts: Readonly<Record<string, Artifact>>
}

/** Contracts that are compiled together, and whose artifacts are kept beside their sources. */
export interface ContractFolder {
  readonly folder: URL
  /** A contract's name, and the file of the folder that it stands in. */
  readonly files: Readonly<Record<string, string>>
}

export const DEVNET_CONTRACTS: ContractFolder = {
  folder: new URL('.', import.meta.url),
  files: {
    DepositContract: 'deposit-contract.sol',
    BatchDeposit: 'batch-deposit.sol',
    ExitRequest: 'exit-request.sol',
    Collectible721: 'collectible-721.sol',
    Items1155: 'items-1155.sol',
    RevertingReceiver: 'reverting-receiver.sol',
  },
}

/** One for each way in which tokens are moved; made of OpenZeppelin's. */
export const DEVNET_COLLECTIONS: ContractFolder = {
  folder: new URL('../collections/', import.meta.url),
  files: {
    Lanterns: 'lanterns-721.sol',
    Provisions: 'provisions-1155.sol',
    Charts: 'charts-2309.sol',
    Echoes: 'echoes-2309.sol',
    Halves: 'halves-404.sol',
    Inscriptions: 'inscriptions-721.sol',
    Almanac: 'almanac-4906.sol',
  },
}

/** Compiles a folder's Solidity sources; throws with the compiler's messages when one does not compile or warns. */
export function compileContracts({ folder, files }: ContractFolder): Artifacts {
  const require = createRequire(import.meta.url)
  const solc = require('solc') as Solc
  const sources = Object.fromEntries(
    Object.values(files).map((file) => [file, { content: readFileSync(new URL(file, folder), 'utf8') }]),
  )
  const input = {
    language: 'Solidity',
    sources,
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'cancun',
      // Without the metadata hash the code depends on the source's meaning only, not on its comments.
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  }
  const ofPackages = {
    import(path: string) {
      try {
        return { contents: readFileSync(require.resolve(path), 'utf8') }
      } catch {
        return { error: 'no package that is installed has it: run npm ci' } // thrown, it would end the compiler for good
      }
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input), ofPackages)) as SolcOutput
  const problems = (output.errors ?? []).filter(
    // A package's warnings are for whoever maintains it.
    ({ severity, sourceLocation }) => severity === 'error' || (sourceLocation?.file ?? '') in sources,
  )
  if (problems.length > 0) throw new Error(problems.map((problem) => problem.formattedMessage).join('\n'))
  const contracts = Object.entries(files).map(([name, source]) => {
    const compiled = output.contracts?.[source]?.[name]
    if (compiled === undefined) throw new Error(`the compiler gave no output for ${name}`)
    const sourceSha256 = createHash('sha256')
      .update(sources[source]?.content ?? '')
      .digest('hex')
    const artifact: Artifact = {
      source,
      sourceSha256,
      abi: compiled.abi,
      bytecode: `0x${compiled.evm.bytecode.object}`,
      deployedBytecode: `0x${compiled.evm.deployedBytecode.object}`,
    }
    return [name, artifact]
  })
  return { compiler: solc.version(), contracts: Object.fromEntries(contracts) }
}

export function writeArtifacts(contracts: ContractFolder): void {
  const target = new URL('artifacts.json', contracts.folder)
  writeFileSync(target, `${JSON.stringify(compileContracts(contracts), null, 2)}\n`)
  process.stdout.write(`wrote ${fileURLToPath(target)}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeArtifacts(DEVNET_CONTRACTS)
  writeArtifacts(DEVNET_COLLECTIONS)
}
