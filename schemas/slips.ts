/** Slips of the keyboard between two words: letters to insert, remove, replace or change with their neighbour, each once. */
export function slipsBetween(from: string, to: string): number {
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let above = 0; above < from.length; above++) {
    const next = [above + 1]
    for (let left = 0; left < to.length; left++) {
      const replaced = (row[left] ?? 0) + (from[above] === to[left] ? 0 : 1)
      const isSwapped = above > 0 && left > 0 && from[above] === to[left - 1] && from[above - 1] === to[left]
      const swapped = isSwapped ? (before[left - 1] ?? 0) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[left + 1] ?? 0) + 1, (next[left] ?? 0) + 1))
    }
    ;[before, row] = [row, next]
  }
  return row[to.length] ?? 0
}
