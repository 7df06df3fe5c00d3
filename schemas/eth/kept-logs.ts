/** Of the deposit contract, whose address differs from network to network. */
export const DEPOSIT_EVENT_TOPIC = '0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5'

/** Of an exit-request contract (infra/devnet/contracts/exit-request.sol): a withdrawal address asks its operator for exits. */
export const EXITS_REQUESTED_TOPIC = '0x06c6accba41296cee0e1d9d92b0e91c9244da6bffb1458c937e727707e7f6c16'
export const ALL_EXITS_REQUESTED_TOPIC = '0x017b047fb2a29cb2eff081f68015fb2a60753bb18720da9c937766b8596a1b5d'

/**
 * Events whose logs go into `execution.logs`, by the keccak-256 of their signature, which is a log's first topic. A contract
 * may emit any of them with any indexed fields: what a log means is decided by who reads it, from its topics and its data.
 */
export const KEPT_EVENTS = [
  // ERC-20 and ERC-721; with 4, 3 or 1 topics, as the contract's age and kind have it.
  {
    signature: 'Transfer(address,address,uint256)',
    topic: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  },
  // ERC-1155
  {
    signature: 'TransferSingle(address,address,address,uint256,uint256)',
    topic: '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62',
  },
  {
    signature: 'TransferBatch(address,address,address,uint256[],uint256[])',
    topic: '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb',
  },
  {
    signature: 'URI(string,uint256)',
    topic: '0x6bb7ff708619ba0610cba295a58592e0451dee2622938c8755667688daf3529b',
  },
  // ERC-2309
  {
    signature: 'ConsecutiveTransfer(uint256,uint256,address,address)',
    topic: '0xdeaa91b6123d068f5821d0fb0678463d1a8a6079fe8af5de3ce5e896dcf9133d',
  },
  // ERC-404
  {
    signature: 'ERC20Transfer(address,address,uint256)',
    topic: '0xe59fdd36d0d223c0c7d996db7ad796880f45e1936cb0bb7ac102e7082e031487',
  },
  {
    signature: 'ERC721Transfer(address,address,uint256)',
    topic: '0xe5f815dc84b8cecdfd4beedfc3f91ab5be7af100eca4e8fb11552b867995394f',
  },
  // CryptoPunks
  {
    signature: 'Assign(address,uint256)',
    topic: '0x8a0e37b73a0d9c82e205d4d1a3ff3d0b57ce5f4d7bccf6bac03336dc101cb7ba',
  },
  {
    signature: 'PunkTransfer(address,address,uint256)',
    topic: '0x05af636b70da6819000c49f85b21fa82081c632069bb626f30932034099107d8',
  },
  {
    signature: 'PunkBought(uint256,uint256,address,address)',
    topic: '0x58e5d5a525e3b40bc15abaa38b5882678db1ee68befd2f60bafe3a7fd06db9e3',
  },
  // ERC-4906
  {
    signature: 'MetadataUpdate(uint256)',
    topic: '0xf8e1a15aba9398e019f0b49df1a4fde98ee17ae345cb5f6b5e2c27f5033e8ce7',
  },
  {
    signature: 'BatchMetadataUpdate(uint256,uint256)',
    topic: '0x6bd5c950a8d8df17f772f5af37cb3655737899cbf903264b9795592da439661c',
  },
  // ERC-7572, and thirdweb's event of the same name
  {
    signature: 'ContractURIUpdated()',
    topic: '0xa5d4097edda6d87cb9329af83fb3712ef77eeb13738ffe43cc35a4ce305ad962',
  },
  {
    signature: 'ContractURIUpdated(string,string)',
    topic: '0xc9c7c3fe08b88b4df9d4d47ef47d2c43d55c025a0ba88ca442580ed9e7348a16',
  },
  { signature: 'DepositEvent(bytes,bytes,bytes,bytes,bytes)', topic: DEPOSIT_EVENT_TOPIC },
  { signature: 'ExitsRequested(address,bytes)', topic: EXITS_REQUESTED_TOPIC },
  { signature: 'AllExitsRequested(address)', topic: ALL_EXITS_REQUESTED_TOPIC },
] as const

/** System contracts that log every request without a topic: known by their addresses, which are the same on all networks. */
export const KEPT_CONTRACTS = {
  /** EIP-7002: source address, public key, amount. */
  withdrawalRequests: '0x00000961ef480eb55e80d19ad83579a64c007002',
  /** EIP-7251: source address, source and target public keys. */
  consolidationRequests: '0x0000bbddc7ce488642fb579f8b00f3a590007251',
} as const

const TOPICS: ReadonlySet<string> = new Set(KEPT_EVENTS.map(({ topic }) => topic))
const ADDRESSES: ReadonlySet<string> = new Set(Object.values(KEPT_CONTRACTS))

/** Whether a log goes into `execution.logs`; hex of either case. */
export function isKeptLog({
  address,
  topics,
}: {
  readonly address: string
  readonly topics: readonly string[]
}): boolean {
  return TOPICS.has(topics[0]?.toLowerCase() ?? '') || ADDRESSES.has(address.toLowerCase())
}
