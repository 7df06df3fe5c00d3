import { type Static, Type } from 'typebox'

// What a key may be used from and for: who has it may use it there alone. The lists are the key's own and change as little as it does.

/** Of one list. */
export const ALLOW_ENTRIES_MAX = 100
/** Of all entries of a key: what stands of an account, with all of its keys, is one event, which every log-in tells anew. */
export const ALLOW_BYTES_MAX = 16_384
/** Scheme, a host's 253 characters, and a port. */
export const ORIGIN_CHARACTERS_MAX = 270
/** Visible ASCII without a comma. */
export const METHOD_ENTRY_PATTERN = '^[!-+\\--~]{1,128}$'

const listOf = (pattern: string, description: string, example: string) =>
  Type.Array(Type.String({ pattern, examples: [example] }), {
    minItems: 1,
    maxItems: ALLOW_ENTRIES_MAX,
    uniqueItems: true,
    description,
  })

/** Absent lists allow everything; a list of none would be a key for nothing. No entry has a comma: tables have them between entries. */
export const AllowLists = Type.Object(
  {
    origins: Type.Optional(
      listOf(
        `^(?=.{1,${ORIGIN_CHARACTERS_MAX}}$)https?://[^\\s,/]+$`,
        'Origins of pages: scheme, host and port, as browsers send them. A request without an origin is none of these.',
        'https://app.example.org',
      ),
    ),
    ips: Type.Optional(
      listOf(
        '^[0-9a-fA-F:.]{2,45}(/[0-9]{1,3})?$',
        'Addresses of clients and networks of them, of IPv4 and IPv6.',
        '203.0.113.0/24',
      ),
    ),
    methods: Type.Optional(
      listOf(
        METHOD_ENTRY_PATTERN,
        'What calls of the gateway may be: JSON-RPC methods, and native ones as verb and path, `GET#/eth/v1/node/syncing`. `*` at the end is any rest.',
        'eth_get*',
      ),
    ),
    contracts: Type.Optional(
      listOf(
        '^0x[0-9a-fA-F]{40}$',
        'What calls of the gateway that name a contract may name: addresses of EVM chains.',
        '0xdAC17F958D2ee523a2206206994597C13D831ec7',
      ),
    ),
  },
  { additionalProperties: false },
)
export type AllowLists = Static<typeof AllowLists>

/** In the order in which they are told. */
export const ALLOW_LISTS = ['origins', 'ips', 'methods', 'contracts'] as const satisfies readonly (keyof AllowLists)[]
export type AllowList = (typeof ALLOW_LISTS)[number]
