import { Document, YAMLSeq } from 'yaml'
import { gatewayName } from './gateway.ts'
import { chainKind } from './select-chain.ts'
import type { ShownSetting } from './setting-reader.ts'
import type { Config } from './types.ts'

/** The effective configuration as the file would say it, each line with where it comes from; secrets are blanked. */
export function formatConfig(config: Config, shown: readonly ShownSetting[]): string {
  const document = new Document({})
  document.commentBefore = summarize(config)
    .split('\n')
    .map((line) => ` ${line}`)
    .join('\n')
  for (const { path, value, origin } of shown) {
    const node = document.createNode(value)
    node.comment = ` ${origin}`
    if (typeof path.at(-1) !== 'number') document.setIn(path, node)
    else {
      const list = path.slice(0, -1)
      if (!document.hasIn(list)) document.setIn(list, new YAMLSeq())
      document.addIn(list, node)
    }
  }
  return document.toString({ lineWidth: 0 })
}

/** Where the configuration was read, the mode, the chains, and what the gateway has upstreams of: without addresses. */
export function summarize({ file, mode, chains, devnet, gateway }: Config): string {
  const listed = chains.map((chain) => {
    const { names, paused } = chain
    const notes = [`${names.protocol}/${names.network}`, chainKind(chain), ...(paused ? ['paused'] : [])]
    return `${names.name} (${notes.join(', ')})`
  })
  const served = gateway.networks.map((network) => `${gatewayName(network)} (${network.upstreams.length})`)
  const hosts = gateway.hosts.map(({ name, protocol, network }) => `${name} (${protocol}/${network})`)
  return [
    `file: ${file.isThere ? file.path : 'none'}`,
    `mode: ${mode.kind}`,
    `chains${devnet === undefined ? '' : ' of the devnet'}: ${listed.join('; ')}`,
    ...(served.length === 0 ? [] : [`upstreams: ${served.join('; ')}`]),
    ...(hosts.length === 0 ? [] : [`hosts: ${hosts.join('; ')}`]),
  ].join('\n')
}
