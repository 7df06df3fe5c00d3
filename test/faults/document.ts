import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const HEADING = '## '
const DOCS = join(import.meta.dirname, '../../docs')

/** A list of faults that is kept in docs. */
export interface FaultDocument {
  readonly file: string
  readonly introduction: string
}

export const FAULTS_OF_NODES: FaultDocument = {
  file: 'faults.md',
  introduction: `# What an operator sees of a faulty node

Each fault lies between the program and a devnet, for a while or for good; each ends in the tables of an undisturbed run, row for row,
and in a proof that holds. The lines are those of the log at level \`info\`, each once; times are those of the suite, whose limits are
shorter. Written by \`npm run test:faults -- --write\`.
`,
}

export const FAULTS_OF_BLOCKS: FaultDocument = {
  file: 'block-faults.md',
  introduction: `# What an operator sees of a faulty node of an execution chain

Each fault lies between the program and a chain without a beacon chain, while that grows and is reorganised; each ends in the tables of
a clean index of the chain as it is in the end. The lines are those of the log at level \`info\`, each once. Written by
\`npm run test:faults -- --write\`.
`,
}

/** A fault with the lines of the log that it leads to. */
export interface ToldFault {
  readonly name: string
  readonly lines: readonly string[]
}

/** The list of faults and lines, as a person reads it. */
export function showFaults(faults: readonly ToldFault[]): string {
  return faults
    .map(({ name, lines }) => {
      const text =
        lines.length === 0 ? 'Nothing: it costs speed at most.\n' : lines.map((line) => `    ${line}\n`).join('')
      return `${HEADING}${name}\n\n${text}`
    })
    .join('\n')
}

export function writeDocument({ file, introduction }: FaultDocument, faults: readonly ToldFault[]): void {
  writeFileSync(join(DOCS, file), `${introduction}\n${showFaults(faults)}`)
}

/** Names of the faults that the document lists. */
export function documentedFaults({ file }: FaultDocument): readonly string[] {
  const lines = readFileSync(join(DOCS, file), 'utf8').split('\n')
  return lines.filter((line) => line.startsWith(HEADING)).map((line) => line.slice(HEADING.length))
}
