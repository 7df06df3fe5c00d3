import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Report } from './report.ts'

const ROUNDS = 5
const SECONDS = 4
/** Of load that is discarded, on each program on Node: its just-in-time compiler is busy for some 100,000 calls. */
const WARM_UP_SECONDS = 6
const CONNECTIONS = 64
/** Of nginx's requests per second. */
const OF_NGINX_MIN = 0.5
/** Times those of the best proxy that runs on Node. */
const OF_NODE_MIN = 1.4
/** Above nginx's, at one connection. */
const ABOVE_NGINX_US_MAX = 30
/** Above nginx's p99, where so many requests a second are offered: each connection waits some milliseconds before it asks again. */
const OFFERED = { perSecond: 10_000, connections: 128, waitMs: [10, 15], seconds: 12, aboveNginxMsMax: 2 } as const
/** Of what is offered: with less the programs would not have been asked it. */
const OFFERED_SHARE_MIN = 0.9
const OURS = 'epochline'
const ON_NODE = ['http-proxy-3', 'fast-proxy', '@fastify/http-proxy']
const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
const run = promisify(execFile)

/**
 * `npm run bench gateway-calls`: measures the gateway beside nginx and the proxies that there are for Node: one call, over and over, to a node that is an nginx with one
 * answer. All take turns, so that what else the machine does hits all of them. It needs Debian's nginx and wrk.
 */
export async function benchGatewayCalls(): Promise<boolean> {
  const missing = await missingOf(['nginx', 'wrk'])
  if (missing.length > 0) {
    process.stderr.write(`no ${missing.join(' and no ')} here: apt-get install nginx-light wrk\n`)
    return false
  }
  const report = new Report()
  await using open = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'epochline-gateway-'))
  open.defer(() => rmSync(directory, { recursive: true, force: true }))
  const [stub, counts, nginx] = [await freePort(), await freePort(), await freePort()]
  const [script, paced] = [join(directory, 'call.lua'), join(directory, 'paced.lua')]
  const call = `wrk.method = "POST"\nwrk.body = '${CALL}'\nwrk.headers["content-type"] = "application/json"\n`
  writeFileSync(script, call)
  writeFileSync(paced, `${call}function delay() return math.random(${OFFERED.waitMs.join(', ')}) end\n`)
  open.use(await startNginx(directory, 'stub', stubConfig(stub, counts)))
  open.use(await startNginx(directory, 'proxy', proxyConfig(nginx, stub)))
  const node = `http://127.0.0.1:${stub}`
  const urls = new Map([
    ['direct', node],
    ['nginx', `http://127.0.0.1:${nginx}/`],
  ])
  for (const name of [OURS, ...ON_NODE]) {
    const proxy = await startProxy(name, node)
    open.use(proxy)
    urls.set(name, `http://127.0.0.1:${proxy.port}/${name === OURS ? 'ethereum/mainnet/key-77' : ''}`)
  }
  for (const name of [OURS, ...ON_NODE])
    await load(urls.get(name) as string, script, { connections: CONNECTIONS, seconds: WARM_UP_SECONDS })
  const all = [...urls.keys()]
  const measure = async (connections: number, { calls = script, seconds = SECONDS, names = all } = {}) => {
    const figures = new Map<string, Figures[]>(names.map((name) => [name, []]))
    for (let round = 0; round < ROUNDS; round++)
      for (const name of names) {
        const before = await countOf(counts)
        const one = await load(urls.get(name) as string, calls, { connections, seconds })
        const seen = (await countOf(counts)) - before
        if (seen < one.requests)
          throw new Error(`${name} was answered ${one.requests} times, the node was asked ${seen} times`)
        figures.get(name)?.push(one)
      }
    return (name: string, of: keyof Figures) => median((figures.get(name) ?? []).map((one) => one[of]))
  }

  report.heading(
    `a call of ${CALL.length} bytes, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s in turns`,
  )
  const many = await measure(CONNECTIONS)
  for (const name of urls.keys()) {
    report.info(`${name}, requests per second`, many(name, 'perSecond'), 0)
    report.info('  p99', many(name, 'p99Us') / 1_000, 1, 'ms')
  }
  const perSecond = (name: string) => many(name, 'perSecond')
  report.atLeast('of nginx', perSecond(OURS) / perSecond('nginx'), { digits: 2, unit: '', min: OF_NGINX_MIN })
  const best = Math.max(...ON_NODE.map(perSecond))
  report.atLeast('times the best on Node', perSecond(OURS) / best, { digits: 2, unit: '', min: OF_NODE_MIN })
  report.heading('one connection')
  const single = await measure(1)
  for (const name of urls.keys()) report.info(`${name}, median`, single(name, 'medianUs'), 0, 'us')
  const above = single(OURS, 'medianUs') - single('nginx', 'medianUs')
  report.limited('above nginx', above, { digits: 0, unit: 'us', max: ABOVE_NGINX_US_MAX })
  report.heading(`${OFFERED.perSecond} requests per second are offered, over ${OFFERED.connections} connections`)
  const names = ['direct', 'nginx', OURS]
  const offered = await measure(OFFERED.connections, { calls: paced, seconds: OFFERED.seconds, names })
  for (const name of names) {
    report.info(`${name}, requests per second`, offered(name, 'perSecond'), 0)
    report.info('  p99', offered(name, 'p99Us') / 1_000, 2, 'ms')
  }
  const share = offered(OURS, 'perSecond') / OFFERED.perSecond
  report.atLeast('of what is offered', share, { digits: 2, unit: '', min: OFFERED_SHARE_MIN })
  const aboveMs = (offered(OURS, 'p99Us') - offered('nginx', 'p99Us')) / 1_000
  report.limited('p99 above nginx', aboveMs, { digits: 2, unit: 'ms', max: OFFERED.aboveNginxMsMax })
  return report.within
}

interface Figures {
  readonly requests: number
  readonly perSecond: number
  readonly medianUs: number
  readonly p99Us: number
}

async function load(
  url: string,
  script: string,
  { connections, seconds }: { readonly connections: number; readonly seconds: number },
): Promise<Figures> {
  const { stdout } = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', script, url])
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${url}: ${stdout}`)
  const figure = (pattern: RegExp): string => {
    const found = pattern.exec(stdout)?.[1]
    if (found === undefined) throw new Error(`wrk has not told ${pattern}: ${stdout}`)
    return found
  }
  return {
    requests: Number(figure(/(\d+) requests in/)),
    perSecond: Number(figure(/Requests\/sec:\s+([\d.]+)/)),
    medianUs: toUs(figure(/^ *50% +(\S+)/m)),
    p99Us: toUs(figure(/^ *99% +(\S+)/m)),
  }
}

/** Of a time as wrk writes it. */
const US_OF = new Map([
  ['us', 1],
  ['ms', 1_000],
  ['s', 1_000_000],
  ['m', 60_000_000],
  ['h', 3_600_000_000],
])

function toUs(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(text) ?? []
  const us = US_OF.get(unit)
  if (us === undefined) throw new Error(`wrk has told no time: ${text}`)
  return Number(number) * us
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

/** Requests that the node has had. */
async function countOf(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/`)).text()
  return Number(/\n\s*\d+\s+\d+\s+(\d+)/.exec(text)?.[1])
}

const nginxConfig = (http: string): string => `
worker_processes 1;
daemon off;
error_log stderr crit;
pid nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
${http}
}
`

/** Programs that are not there; those that are may end with whatever code they like. */
async function missingOf(programs: readonly string[]): Promise<readonly string[]> {
  const isMissing = (program: string): Promise<boolean> =>
    run(program, ['-v']).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
    )
  const found = await Promise.all(programs.map(isMissing))
  return programs.filter((_, i) => found[i])
}

const stubConfig = (port: number, counts: number): string =>
  nginxConfig(`
  server {
    listen 127.0.0.1:${port};
    location / { default_type application/json; return 200 '{"jsonrpc":"2.0","id":1,"result":"0x1234"}'; }
  }
  server { listen 127.0.0.1:${counts}; location / { stub_status; } }`)

const proxyConfig = (port: number, stub: number): string =>
  nginxConfig(`
  upstream node { server 127.0.0.1:${stub}; keepalive 128; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }`)

async function startNginx(directory: string, name: string, config: string): Promise<AsyncDisposable> {
  const place = mkdtempSync(join(directory, name))
  writeFileSync(join(place, 'nginx.conf'), config)
  return started(
    spawn('nginx', ['-p', place, '-c', join(place, 'nginx.conf')], { stdio: ['ignore', 'inherit', 'inherit'] }),
  )
}

async function startProxy(name: string, node: string): Promise<AsyncDisposable & { readonly port: number }> {
  const program = join(import.meta.dirname, 'gateway-proxies.ts')
  const child = spawn(process.execPath, [...process.execArgv, program, name, node], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (bytes: Buffer) => resolve(Number(bytes.toString())))
    child.once('exit', (code) => reject(new Error(`${name} has ended with ${code}`)))
  })
  return { ...(await started(child)), port }
}

async function started(child: ReturnType<typeof spawn>): Promise<AsyncDisposable> {
  const ended = new Promise<void>((resolve, reject) => {
    child.once('exit', () => resolve())
    child.once('error', reject)
  })
  await Promise.race([wait(300), ended])
  if (child.exitCode !== null) throw new Error(`${child.spawnfile} has ended with ${child.exitCode}`)
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
