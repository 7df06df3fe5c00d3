/**
 * Ends a statement that sums millions of rows: the engine translates its sums to machine code at once, which takes it a quarter of a second and
 * then two thirds of the time that it takes otherwise. Without it the embedded engine translates nothing (`infra/warehouse/chdb-connection.ts`).
 */
export const COMPILED_SUMS =
  ' SETTINGS compile_aggregate_expressions = 1, min_count_to_compile_aggregate_expression = 0'

/** Of rows that a statement reads: where it has so many it is worth it. */
export const COMPILED_ROWS_MIN = 2_000_000
