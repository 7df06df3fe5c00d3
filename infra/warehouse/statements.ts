/** One statement per call is what ClickHouse takes over HTTP: a text of several is cut here, or refused. */

/** The statements of a text in which every one ends with a `;` at the end of a line. Comments alone make no statement. */
export function splitStatements(text: string): string[] {
  const withoutComments = text.replace(/^[ \t]*--.*$/gm, '')
  return withoutComments
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/** True when something other than blanks and comments follows a `;` outside of quotes. */
export function hasSeveralStatements(text: string): boolean {
  return text.includes(';') && /;\s*\S/.test(withoutQuotes(text))
}

/** The text with a blank for everything in quotes and comments. */
export function withoutQuotes(text: string): string {
  const quotesAndComments = /'(?:\\.|''|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|--[^\n]*|\/\*.*?\*\//gs
  return text.replace(quotesAndComments, ' ')
}
