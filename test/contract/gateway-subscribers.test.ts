import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { tries } from '../long-form.ts'
import { ADDRESSES, type ChainBlock, type ChainLog, EvmChain, EvmNode } from './given-evm-chain.ts'
import { openGivenGateway, untilHealthy } from './given-gateway.ts'
import { socketsOn } from './given-socket.ts'
import { expectLinked, openSubscriber, standingOf } from './given-subscriber.ts'

// A hundred subscribers through losses of nodes, of each kind in turn. What they are to have heard in the end is asked of the chain.

const SUBSCRIBERS = 100
const LOSSES = tries(8, 50)
const SOON = { interval: 10 }
const BLOCK_MS = 30
/** While a node is lost: of more than 128, which a slow machine takes long enough for, clients would be closed. */
const BLOCKS_MAX = 100
const LOSS_MS_MAX = 60_000

const KINDS = ['kill', 'silence', 'stuck head', 'kill during a reorg'] as const

test(`a hundred subscribers end with equal, complete lists over ${LOSSES} losses of their node`, async () => {
  const chain = new EvmChain()
  chain.append(5)
  await using stack = new AsyncDisposableStack()
  const nodes: EvmNode[] = []
  for (let i = 0; i < 3; i++) nodes.push(stack.use(await EvmNode.open(chain)))
  const gateway = stack.use(await openGivenGateway([socketsOn('ethereum/mainnet', ...nodes)]))
  await untilHealthy(gateway, 'ethereum/mainnet')
  const base = chain.tip
  const subscribers = await Promise.all(
    Array.from({ length: SUBSCRIBERS }, async (_, index) => {
      const one = stack.use(await openSubscriber(gateway))
      const address = ADDRESSES[index % 2] as string
      const heads = await one.subscribe<ChainBlock['head']>('newHeads')
      const logs = await one.subscribe<ChainLog>('logs', { address })
      return { client: one.client, address, heads, logs }
    }),
  )
  const isTold = () => subscribers.every(({ heads }) => heads.results.at(-1)?.hash === chain.tip.hash)
  const untilTold = () => expect.poll(isTold, SOON).toBe(true)
  const areLogsTold = () =>
    subscribers.every(({ logs }) => logs.results.some(({ blockHash }) => blockHash === chain.tip.hash))
  const isTelling = ({ subscribed }: EvmNode) => subscribed.size > 0

  for (let loss = 0; loss < LOSSES; loss++) {
    const kind = KINDS[loss % KINDS.length] as (typeof KINDS)[number]
    // A block whose logs all are told of: there is something to be taken back.
    do chain.append()
    while (!ADDRESSES.every((one) => chain.tip.logs.some(({ address }) => address === one)))
    await untilTold()
    await expect.poll(areLogsTold, SOON).toBe(true)
    const node = nodes.find(isTelling) as EvmNode
    if (kind === 'silence') node.isSilent = true
    else if (kind === 'stuck head') node.isStuck = true
    else await node.kill()
    if (kind === 'kill during a reorg') chain.reorg(1 + (loss % 3))
    // The chain goes on, and now and then is another one, until all have heard of it elsewhere.
    const [firstNumber, beganMs] = [chain.tip.number, performance.now()]
    do {
      if (chain.tip.number - firstNumber < BLOCKS_MAX) {
        chain.append()
        if (loss % 5 === 4) chain.reorg(2)
      }
      await wait(BLOCK_MS)
      if (performance.now() - beganMs > LOSS_MS_MAX) throw new Error(`nothing is told since loss ${loss} (${kind})`)
    } while (!nodes.some((other) => other !== node && isTelling(other)) || !isTold())
    node.isSilent = false
    node.isStuck = false
    if (kind.startsWith('kill')) await node.start()
  }
  chain.append()
  await untilTold()

  const canonical = chain.blocks.filter(({ number }) => number > base.number)
  const logsOf = (wanted: string) => canonical.flatMap(({ logs }) => logs.filter(({ address }) => address === wanted))
  const [first] = subscribers as [(typeof subscribers)[number]]
  expectLinked(first.heads.results, base.hash)
  const told = new Set(first.heads.results.map(({ hash }) => hash))
  expect(canonical.filter(({ hash }) => !told.has(hash))).toEqual([])
  for (const { address, heads, logs } of subscribers) {
    expect(heads.results).toEqual(first.heads.results)
    await expect.poll(() => standingOf(logs.results), SOON).toEqual(logsOf(address))
    const equal = subscribers.find((other) => other.address === address)
    expect(logs.results).toEqual(equal?.logs.results)
  }
  // The losses have left their marks.
  expect(first.heads.replayed).toContain(true)
  expect(first.logs.results.some(({ removed }) => removed === true)).toBe(true)
})
