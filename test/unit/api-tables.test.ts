import { expect, test } from 'vitest'
import { KEYMANAGER_API } from '../keymanager/table.ts'
import { answerFaultsOf, faultsOf, type TableRoute } from '../web3signer/api-table.ts'
import { WEB3SIGNER_API } from '../web3signer/table.ts'

const { sign, keystores, upcheck } = WEB3SIGNER_API
const SIGNATURE = `0x${'ab'.repeat(96)}`
const entries = (...data: readonly unknown[]) => ({ data })
const KEY = { validating_pubkey: `0x${'AB'.repeat(48)}` }

test.each<[string, TableRoute, number, unknown, readonly RegExp[]]>([
  ['a signature', sign, 200, { signature: SIGNATURE }, []],
  ['a signature as text', sign, 200, SIGNATURE, []],
  ['a signature of one byte', sign, 200, { signature: '0x00' }, [/^signature is not /]],
  ['a signature beside something else', sign, 200, { signature: SIGNATURE, ok: 'yes' }, [/^ok is not in the API$/]],
  ['an empty text', sign, 200, '', [/^the text is not in the API$/]],
  ['a status of another API', sign, 202, {}, [/^status 202 is not in the API$/]],
  ['keystores', keystores, 200, entries({ status: 'imported' }, { status: 'error', message: 'why\nnot' }), []],
  [
    'one keystore without its status',
    keystores,
    200,
    entries({ status: 'imported' }, {}),
    [/^data\.\*\.status is missing$/],
  ],
  ['a keystore that is done', keystores, 200, entries({ status: 'done' }), [/^data\.\*\.status is not /]],
  ['keystores as a text', keystores, 200, 'imported', [/^the text is not in the API$/]],
  ['a refusal that Web3Signer has not', keystores, 400, { message: 'no' }, [/^status 400 /]],
  ['a refusal without its message', keystores, 500, {}, [/^message is missing$/]],
  ['JSON from what tells by a text', upcheck, 200, { status: 'OK' }, [/^JSON is not in the API$/]],
  ['no keys', KEYMANAGER_API.list, 200, entries(), []],
  ['a key', KEYMANAGER_API.list, 200, entries({ ...KEY, readonly: false }), []],
  [
    'a key that is read only by a text',
    KEYMANAGER_API.list,
    200,
    entries({ ...KEY, readonly: 'no' }),
    [/readonly is not /],
  ],
  ['a fee recipient that was set', KEYMANAGER_API.feeRecipient, 202, '', []],
  ['a fee recipient with another status', KEYMANAGER_API.feeRecipient, 200, '', [/^status 200 /]],
])('the tables find what is wrong with %s as an answer', (_, route, status, data, faults) => {
  expect(answerFaultsOf(route, { status, data })).toEqual(faults.map((fault) => expect.stringMatching(fault)))
})

test('the tables find what is wrong with a request', () => {
  const { request } = KEYMANAGER_API.feeRecipient
  expect(faultsOf({ ethaddress: `0x${'ab'.repeat(20)}` }, request)).toEqual([])
  expect(faultsOf({ address: `0x${'ab'.repeat(20)}` }, request)).toEqual([
    'ethaddress is missing',
    'address is not in the API',
  ])
})
