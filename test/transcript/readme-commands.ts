/** The commands of a section of the README, as they stand in its code blocks. */
export function commandsOf(readme: string, heading: string): readonly string[] {
  const outside = sectionOf(readme, heading).replaceAll(/^```[\s\S]*?^```$/gm, '')
  const indented = [...outside.matchAll(/^ {4}(\S.*)$/gm)].map(([, line = '']) => line)
  return [...indented, ...consoleCommandsOf(readme, heading)]
}

/** Those alone that are shown with their answers. */
export function consoleCommandsOf(readme: string, heading: string): readonly string[] {
  const consoles = sectionOf(readme, heading).matchAll(/^```console\n([\s\S]*?)^```$/gm)
  return [...consoles].flatMap(([, block = '']) => typedIn(block))
}

function sectionOf(readme: string, heading: string): string {
  const [, section] = new RegExp(`^## ${heading}$([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, 'm').exec(readme) ?? []
  if (section === undefined) throw new Error(`the README has no section ${heading}`)
  return section
}

/** What follows a command, and may have an apostrophe. */
export const COMMENT = /\s+# .*$/

/** What follows the prompts of a console, up to the end of the line or of an open quote. */
function typedIn(block: string): readonly string[] {
  const commands: string[] = []
  let open: string | undefined
  for (const line of block.split('\n')) {
    if (open !== undefined) open += `\n${line}`
    else if (line.startsWith('$ ')) open = line.slice('$ '.length)
    if (open === undefined || (open.replace(COMMENT, '').split("'").length - 1) % 2 === 1) continue
    commands.push(open)
    open = undefined
  }
  return commands
}

const DATE = /\b\d{4}-\d{2}-\d{2}\b/g
const DAY_MS = 86_400_000

/**
 * The command with its dates moved as the README asks for: its examples are of a devnet started on `startedOn`. Days before the
 * devnet's first whole one, which only an older chain has, become that one.
 */
export function withDates(command: string, startedOn: string, today: string): string {
  const movedMs = Date.parse(today) - Date.parse(startedOn)
  const firstWholeMs = Date.parse(today) - 2 * DAY_MS
  return command.replaceAll(DATE, (date) =>
    new Date(Math.max(Date.parse(date) + movedMs, firstWholeMs)).toISOString().slice(0, date.length),
  )
}
