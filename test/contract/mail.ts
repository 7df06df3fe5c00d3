import { describe, expect, onTestFinished, test } from 'vitest'
import type { Mail } from '../../infra/ports/mail.ts'
import { AppError } from '../../schemas/errors.ts'

/** A message as it has arrived. */
export interface ArrivedMail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Where messages arrive. */
export interface MailPlace extends AsyncDisposable {
  readonly mail: Mail
  /** All that have, in the order of their subjects. */
  arrived(): Promise<readonly ArrivedMail[]>
  /** From now on nothing is taken any more. */
  refuse(): Promise<void>
}

const MESSAGE = { to: 'ann@example.org', subject: 'A code', text: 'The code is 1234.\n\nSmörgås.\n.\nend\n' }

/** What all mail must do: the guarantees of infra/ports/mail.ts, each as a test. */
export function mailContract(name: string, newPlace: () => Promise<MailPlace>): void {
  async function openPlace(): Promise<MailPlace> {
    const place = await newPlace()
    onTestFinished(() => place[Symbol.asyncDispose]())
    return place
  }

  describe(`mail contract: ${name}`, () => {
    test('has a message as it was written where it resolves', async () => {
      const { mail, arrived } = await openPlace()
      await mail.send(MESSAGE)
      expect(await arrived()).toEqual([MESSAGE])
    })

    test('has each of many that are sent at once', async () => {
      const { mail, arrived } = await openPlace()
      const messages = Array.from({ length: 20 }, (_, i) => ({ ...MESSAGE, subject: `Number ${10 + i}` }))
      await Promise.all(messages.map((message) => mail.send(message)))
      expect(await arrived()).toEqual(messages)
    })

    test.each([
      ['two addresses', { ...MESSAGE, to: 'ann@example.org, bob@example.org' }],
      ['an address with a name', { ...MESSAGE, to: 'Ann <ann@example.org>' }],
      ['a second header in the address', { ...MESSAGE, to: 'ann@example.org\r\nBcc: bob@example.org' }],
      ['a second header in the subject', { ...MESSAGE, subject: 'A code\r\nBcc: bob@example.org' }],
      ['an endless text', { ...MESSAGE, text: 'x'.repeat(1_000_000) }],
    ])('refuses a message with %s, and sends nothing', async (_, message) => {
      const { mail, arrived } = await openPlace()
      await expect(mail.send(message)).rejects.toMatchObject({ code: 'mail', retryable: false })
      expect(await arrived()).toEqual([])
    })

    test('rejects without the address and the text where nobody takes the message', async () => {
      const { mail, refuse } = await openPlace()
      await refuse()
      const error = await mail.send(MESSAGE).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(AppError)
      expect(error).toMatchObject({ code: 'mail', retryable: true })
      expect(String((error as AppError).stack)).not.toMatch(/ann@|code is/)
    })
  })
}
