import { expect, it } from 'vitest'
import { showAccount } from '../../commands/admin/accounts.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { created, tracked } from './account-facts.ts'
import { givenKey } from './given-chain.ts'
import { settingsOfFile } from './setting-of-file.ts'

const settings = settingsOfFile()
/** Without letters, so that their checksum is themselves. */
const [FIRST, SECOND] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`]
const [PAID, UNPAID] = [givenKey(0), givenKey(1)]

function told(address: string, isOwn: boolean, from?: string): EncodedEvent {
  const data = {
    chain: 'mainnet',
    recipients: [{ pubkey: PAID, address }],
    isOwn,
    ...(from === undefined ? {} : { from }),
  }
  return encodeEvent(feeRecipientsTold, { id: 'told', key: ACCOUNTS_KEY, time: '2026-03-01T00:00:00.000Z', data })
}

it('an account is shown with the addresses at which its validators are paid, and the days that each holds for', async () => {
  const setting = settings()
  {
    await using eventLog = await openEventLog(setting.config, setting.log)
    await eventLog.append('accounts', [
      created('a'),
      tracked('a', [PAID, UNPAID]),
      told(FIRST, true),
      told(SECOND, true, '2026-01-10'),
      told(SECOND, false, '2026-01-20'),
      told(SECOND, true, '2026-01-15'), // says again what holds
      told(FIRST, false, '2026-02-01'),
      told(FIRST, true, '2026-02-01'), // said later of the same day
    ])
  }
  await showAccount(setting, 'a')
  const lines = setting.printed().split('\n')
  expect(lines.slice(lines.indexOf('validators of mainnet: 2, and 0 watched'))).toEqual([
    'validators of mainnet: 2, and 0 watched',
    ...[PAID, UNPAID].toSorted().flatMap((pubkey) => [
      `  ${pubkey} all history`,
      ...(pubkey === PAID
        ? [
            `    paid at ${FIRST} all history`, //
            `    paid at ${SECOND} from 2026-01-10 until 2026-01-20`,
          ]
        : []),
    ]),
    '',
  ])
})
