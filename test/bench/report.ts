const NAME_CHARACTERS = 44
const FIGURE_CHARACTERS = 10

/** Prints figures beside their limits and remembers whether all of them held. */
export class Report {
  #within = true

  get within(): boolean {
    return this.#within
  }

  heading(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  /** A figure for reading, without a limit. */
  info(name: string, value: number, digits: number, unit = ''): void {
    this.#line(name, value, digits, unit, '')
  }

  /** A figure that must not be above its limit. */
  limited(
    name: string,
    value: number,
    limit: { readonly digits: number; readonly unit: string; readonly max: number },
  ): void {
    const fits = value <= limit.max
    this.#within &&= fits
    this.#line(name, value, limit.digits, limit.unit, `limit ${limit.max}${fits ? '' : '  EXCEEDED'}`)
  }

  /** A figure that must not be below its limit. */
  atLeast(
    name: string,
    value: number,
    limit: { readonly digits: number; readonly unit: string; readonly min: number },
  ): void {
    const fits = value >= limit.min
    this.#within &&= fits
    this.#line(name, value, limit.digits, limit.unit, `limit ${limit.min} at least${fits ? '' : '  MISSED'}`)
  }

  #line(name: string, value: number, digits: number, unit: string, rest: string): void {
    const figure = value.toFixed(digits).padStart(FIGURE_CHARACTERS)
    process.stdout.write(`${`  ${name.padEnd(NAME_CHARACTERS)}${figure} ${unit.padEnd(6)} ${rest}`.trimEnd()}\n`)
  }
}
