// Calls that nobody sends by mistake, over HTTP or a WebSocket.

/** Numbers that are the same in every run (mulberry32). */
export function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

export const HOSTILE_CALLS: readonly string[] = [
  ...['', '{}', '[]', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}', '{"method":"eth_chainId","id":1}'],
  ...[
    '{"method":"admin_peers","id":1}',
    '{"m\\u0065thod":"admin_peers","method":"eth_chainId"}',
    '{"METHOD":"admin_peers","method":"eth_chainId"}',
  ],
  ...[
    '{"method":"eth_chainId","method":"admin_peers"}',
    `[${'{"method":"eth_chainId","id":1},'.repeat(120)}1]`,
    '[[]]',
    '[1,"a",null]',
    '[{"method":"eth_chainId","id":1},1,{"foo":"boo"}]',
    '[{"METHOD":"admin_peers","id":1},{"method":"eth_chainId","id":2},[{"method":"admin_peers","id":3}]]',
    'null',
    '1e999',
  ],
  ...[
    '['.repeat(50_000),
    '{"a":'.repeat(20_000),
    '"\\ud800"',
    '\ufeff{"method":"eth_chainId"}',
    '{"id":1e400,"method":"eth_chainId"}',
    '{"method":{}}',
  ],
  ...[
    `{"method":"${'m'.repeat(5_000)}"}`,
    '{"method":"eth_getFilterChanges","params":["0x123456789"],"id":{"a":[1]}}',
    '{"method":"eth_newFilter","id":"\\""}',
  ],
]
