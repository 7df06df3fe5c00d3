// Run by screen.test.ts: what a busy command shows, with lines among the bars.
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { openScreen } from '../../infra/screen.ts'

const BAR_SHOWN_MS = 700 // bars are drawn twice a second
const screen = openScreen()
const log = pino({ name: 'epochline' }, screen.log)
{
  using progress = screen.openProgress()
  screen.print('before the bars\n')
  for (const done of [1, 2, 3]) {
    progress.update('blocks', { done, total: 3, note: 'lag 0' })
    progress.update('scroll_mainnet blocks', { done, total: 3 })
    await sleep(BAR_SHOWN_MS)
    screen.print(`printed ${done}\n`)
    log.info({ chain: 'mainnet', field: done }, `told ${done} ${'and more '.repeat(12)}`)
    log.warn({ code: 'node_lagging' }, `warned ${done} \x1b[2J`)
  }
}
screen.print('after the bars\n')
