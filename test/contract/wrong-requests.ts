// Requests that are wrong by themselves, with the sentence that is answered behind `Param error: `, status 400: each as a body, as text or as
// JSON. Nobody is asked about them. The whole program is asked all of them, too (test/e2e/create.ts).

const ADDRESS = `0x${'ad'.repeat(20)}`
const WRONG_CHECKSUM = '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const ZERO = `0x${'00'.repeat(20)}`
const KEY = `0x${'ab'.repeat(48)}`
const OTHER = `0x${'cd'.repeat(48)}`
const NO_OBJECT = 'the body is not a JSON object'

/** A body, and the sentence that is answered. */
export type WrongRequest = readonly [body: unknown, sentence: string]

const good = { validator_count: 2, withdrawal_address: ADDRESS }
const COUNT = 'validator_count'
const WITHDRAWAL = 'withdrawal_address'
const ADDRESS_PATTERN = 'must match pattern "^0[xX][0-9a-fA-F]{40}$"'

export const WRONG_CREATIONS: readonly WrongRequest[] = [
  ['', `${COUNT} is missing`],
  [' ', `${COUNT} is missing`],
  ['null', `${COUNT} is missing`],
  ['{', NO_OBJECT],
  ['[]', NO_OBJECT],
  ['[{"validator_count":1}]', NO_OBJECT],
  ['"text"', NO_OBJECT],
  ['1', NO_OBJECT],
  ['true', NO_OBJECT],
  ['validator_count=1', NO_OBJECT],
  [{}, `${COUNT} is missing`],
  [{ validator_count: 1 }, `${WITHDRAWAL} is missing`],
  [{ withdrawal_address: ADDRESS }, `${COUNT} is missing`],
  [{ ...good, validator_count: null }, `${COUNT} is missing`],
  [{ ...good, validator_count: '' }, `${COUNT} is missing`],
  [{ ...good, validator_count: 0 }, `${COUNT} must be >= 1`],
  [{ ...good, validator_count: -1 }, `${COUNT} must be >= 1`],
  [{ ...good, validator_count: 101 }, `${COUNT} must be <= 100`],
  [{ ...good, validator_count: 1e9 }, `${COUNT} must be <= 100`],
  [{ ...good, validator_count: 1.5 }, `${COUNT} must be integer`],
  [{ ...good, validator_count: '1' }, `${COUNT} must be integer`],
  [{ ...good, validator_count: true }, `${COUNT} must be integer`],
  [{ ...good, validator_count: [1] }, `${COUNT} must be integer`],
  [{ ...good, validator_count: {} }, `${COUNT} must be integer`],
  ['{"validator_count":1e400,"withdrawal_address":"0x"}', `${COUNT} must be integer`],
  ['{"validator_count":NaN}', NO_OBJECT],
  [{ ...good, withdrawal_address: null }, `${WITHDRAWAL} is missing`],
  [{ ...good, withdrawal_address: '' }, `${WITHDRAWAL} is missing`],
  // Whoever left it out would be paid, or would sign, where this one has forgotten somebody.
  [{ ...good, deposit_from_address: '' }, 'deposit_from_address has no value: leave it out'],
  [{ ...good, fee_recipient_address: null }, 'fee_recipient_address has no value: leave it out'],
  [{ ...good, withdrawal_address: 1 }, `${WITHDRAWAL} must be string`],
  [{ ...good, withdrawal_address: [ADDRESS] }, `${WITHDRAWAL} must be string`],
  [{ ...good, withdrawal_address: '0x' }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: ADDRESS.slice(2) }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: `${ADDRESS}00` }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: ADDRESS.slice(0, -1) }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: ` ${ADDRESS}` }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: `${ADDRESS}\n` }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: 'vitalik.eth' }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: ADDRESS.replace('ad', 'zz') }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: `0x01${'00'.repeat(11)}${'ad'.repeat(20)}` }, `${WITHDRAWAL} ${ADDRESS_PATTERN}`],
  [{ ...good, withdrawal_address: ZERO }, `${WITHDRAWAL} is the zero address`],
  [{ ...good, withdrawal_address: WRONG_CHECKSUM }, `${WITHDRAWAL} does not have the checksum of its letters (EIP-55)`],
  [
    { ...good, deposit_from_address: WRONG_CHECKSUM },
    'deposit_from_address does not have the checksum of its letters (EIP-55)',
  ],
  [
    { ...good, fee_recipient_address: WRONG_CHECKSUM },
    'fee_recipient_address does not have the checksum of its letters (EIP-55)',
  ],
  [{ ...good, deposit_from_address: ZERO }, 'deposit_from_address is the zero address'],
  [{ ...good, fee_recipient_address: ZERO }, 'fee_recipient_address is the zero address'],
  [{ ...good, deposit_from_address: '0x1' }, `deposit_from_address ${ADDRESS_PATTERN}`],
  [{ ...good, fee_recipient_address: 7 }, 'fee_recipient_address must be string'],
  [{ ...good, deposit_from_address: {} }, 'deposit_from_address must be string'],
  [
    { withdrawal_address: ADDRESS, validatorCount: 2 },
    'validatorCount is not understood: did you mean validator_count?',
  ],
  [
    { withdrawal_address: ADDRESS, 'validator-count': 2 },
    'validator-count is not understood: did you mean validator_count?',
  ],
  [{ ...good, withdrawalAddress: ADDRESS }, 'withdrawalAddress is not understood: did you mean withdrawal_address?'],
  [{ ...good, fee_recipient: ADDRESS }, 'fee_recipient is not understood: did you mean fee_recipient_address?'],
  [{ ...good, deposit_from: ADDRESS }, 'deposit_from is not understood: did you mean deposit_from_address?'],
  [{ ...good, validator_count_max: 2 }, 'validator_count_max is not understood: did you mean validator_count?'],
  [{ ...good, amount: '64' }, 'amount is not understood'],
  [{ ...good, withdrawal_credentials_type: '0x02' }, 'withdrawal_credentials_type is not understood'],
  [
    { ...good, deposit_form_address: ADDRESS },
    'deposit_form_address is not understood: did you mean deposit_from_address?',
  ],
]

const PUBKEYS_MAX = 1_000
const NO_PUBKEYS = 'pubkeys is missing'
const KEY_PATTERN = 'must match pattern "^(0[xX])?[0-9a-fA-F]{96}$"'
const many = Array.from({ length: PUBKEYS_MAX + 1 }, () => KEY)

/** Of exits as of their cancellation. */
export const WRONG_EXITS: readonly WrongRequest[] = [
  ['', NO_PUBKEYS],
  [' ', NO_PUBKEYS],
  ['null', NO_PUBKEYS],
  ['{', NO_OBJECT],
  ['[]', NO_OBJECT],
  [`["${KEY}"]`, NO_OBJECT],
  [`"${KEY}"`, NO_OBJECT],
  ['all', NO_OBJECT],
  ['true', NO_OBJECT],
  [`pubkeys=${KEY}`, NO_OBJECT],
  [{}, NO_PUBKEYS],
  [{ pubkeys: null }, NO_PUBKEYS],
  [{ pubkeys: '' }, NO_PUBKEYS],
  [{ pubkeys: 'null' }, 'pubkeys must be array'],
  [{ pubkeys: [] }, 'pubkeys must not have fewer than 1 items'],
  [{ pubkeys: KEY }, 'pubkeys must be array'],
  [{ pubkeys: 'all' }, 'pubkeys must be array'],
  [{ pubkeys: 7 }, 'pubkeys must be array'],
  [{ pubkeys: true }, 'pubkeys must be array'],
  [{ pubkeys: {} }, 'pubkeys must be array'],
  [{ pubkeys: { 0: KEY } }, 'pubkeys must be array'],
  [{ pubkeys: many }, 'pubkeys must not have more than 1000 items'],
  [{ pubkeys: [null] }, 'pubkeys/0 must be string'],
  [{ pubkeys: [''] }, `pubkeys/0 ${KEY_PATTERN}`],
  [{ pubkeys: [7] }, 'pubkeys/0 must be string'],
  [{ pubkeys: [[KEY]] }, 'pubkeys/0 must be string'],
  [{ pubkeys: ['all'] }, `pubkeys/0 ${KEY_PATTERN}`],
  [{ pubkeys: ['0x'] }, `pubkeys/0 ${KEY_PATTERN}`],
  [{ pubkeys: [KEY, `${KEY}00`] }, `pubkeys/1 ${KEY_PATTERN}`],
  [{ pubkeys: [KEY, KEY.slice(0, -1)] }, `pubkeys/1 ${KEY_PATTERN}`],
  [{ pubkeys: [KEY, ` ${OTHER}`] }, `pubkeys/1 ${KEY_PATTERN}`],
  [{ pubkeys: [KEY, `${OTHER}\n`] }, `pubkeys/1 ${KEY_PATTERN}`],
  [{ pubkeys: [KEY, `${KEY},${OTHER}`] }, `pubkeys/1 ${KEY_PATTERN}`],
  [{ pubkeys: [KEY, KEY.replace('ab', 'zz')] }, `pubkeys/1 ${KEY_PATTERN}`],
  [{ pubkeys: [KEY, '1'] }, `pubkeys/1 ${KEY_PATTERN}`],
  [{ pubkey: [KEY] }, 'pubkey is not understood: did you mean pubkeys?'],
  [{ pubKeys: [KEY] }, 'pubKeys is not understood: did you mean pubkeys?'],
  [{ pubkeys: [KEY], withdrawal_address: `0x${'ad'.repeat(20)}` }, 'withdrawal_address is not understood'],
  [{ pubkeys: [KEY], epoch: 7 }, 'epoch is not understood'],
  [{ pubkeys: [KEY], all: true }, 'all is not understood'],
]

const NO_TRANSACTION = 'signed_transaction is missing'
const TRANSACTION_PATTERN = 'signed_transaction must match pattern "^0[xX]([0-9a-fA-F]{2})+$"'

export const WRONG_BROADCASTS: readonly WrongRequest[] = [
  ['', NO_TRANSACTION],
  ['null', NO_TRANSACTION],
  ['{', NO_OBJECT],
  ['[]', NO_OBJECT],
  ['"0x02"', NO_OBJECT],
  [{}, NO_TRANSACTION],
  [{ signed_transaction: null }, NO_TRANSACTION],
  [{ signed_transaction: '' }, NO_TRANSACTION],
  [{ signed_transaction: 1 }, 'signed_transaction must be string'],
  [{ signed_transaction: ['0x02'] }, 'signed_transaction must be string'],
  [{ signed_transaction: {} }, 'signed_transaction must be string'],
  [{ signed_transaction: '0x' }, TRANSACTION_PATTERN],
  [{ signed_transaction: '02f8' }, TRANSACTION_PATTERN],
  [{ signed_transaction: '0x2' }, TRANSACTION_PATTERN],
  [{ signed_transaction: '0x0g' }, TRANSACTION_PATTERN],
  [{ signed_transaction: ' 0x02' }, TRANSACTION_PATTERN],
  [{ signed_transaction: '0x02\n' }, TRANSACTION_PATTERN],
]
