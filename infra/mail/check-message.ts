import { AppError } from '../../schemas/errors.ts'
import { MAIL_ADDRESS_MAX, MAIL_ADDRESS_PATTERN } from '../../schemas/mail-address.ts'
import type { MailMessage } from '../ports/mail.ts'

/** A line of a message's head without its name (RFC 5322, 2.1.1). */
const SUBJECT_CHARACTERS_MAX = 200
/** What we write has a few lines. */
const TEXT_CHARACTERS_MAX = 16 * 1024

const ADDRESS = new RegExp(MAIL_ADDRESS_PATTERN)
const LINE = /^[^\p{C}\p{Zl}\p{Zp}]*$/u

/** Throws AppError `mail` for what could become another message than it was meant to be. */
export function checkMessage({ to, subject, text }: MailMessage): void {
  const isAddress = to.length <= MAIL_ADDRESS_MAX && ADDRESS.test(to)
  const isLine = subject.length <= SUBJECT_CHARACTERS_MAX && LINE.test(subject)
  if (isAddress && isLine && text.length <= TEXT_CHARACTERS_MAX) return
  throw new AppError('mail', 'the message has no address, a subject of several lines, or is too long')
}
