import { test } from 'vitest'

/** Addresses of the servers that test/servers/run.ts has started or was given. */
const VARIABLES = {
  kafka: 'EPOCHLINE_TEST_KAFKA', // host:port
  redis: 'EPOCHLINE_TEST_REDIS', // redis://…
  clickhouse: 'EPOCHLINE_TEST_CLICKHOUSE', // http://…
} as const

/**
 * Declares tests that need a server. Without its address they are skipped, or, with EPOCHLINE_TEST_STRICT=1, fail: where
 * servers are expected, a missing one must not look like success.
 */
export function withServer(server: keyof typeof VARIABLES, declare: (address: string) => void): void {
  const variable = VARIABLES[server]
  const address = process.env[variable]
  if (address !== undefined && address !== '') {
    declare(address)
    return
  }
  test.skipIf(process.env.EPOCHLINE_TEST_STRICT !== '1')(`needs ${server} at ${variable}`, () => {
    throw new Error(`${variable} is not set, and EPOCHLINE_TEST_STRICT=1 wants every server`)
  })
}
