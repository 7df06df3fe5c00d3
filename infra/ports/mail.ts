/** What one person is told. Addresses and texts are the caller's: what is secret in them (a code) is for nobody else's eyes. */
export interface MailMessage {
  /** One address, of the form that `MAIL_ADDRESS_PATTERN` has. */
  readonly to: string
  /** One line. */
  readonly subject: string
  /** Plain text; lines end with \n. */
  readonly text: string
}

/**
 * Messages to people.
 *
 * Guarantees: when `send` resolves, somebody else is responsible for the message: a server has accepted it, or it is whole in its file,
 * and survives the death of this process. What cannot be accepted rejects within `MAIL_MS_MAX` of the adapter with AppError `mail`, whose
 * message has neither the address nor anything of the text.
 * Not promised: that it arrives, order, or that it comes once: what rejects may have been accepted all the same.
 * Not the implementer's job: trying again, and how many messages somebody may get.
 */
export interface Mail extends AsyncDisposable {
  send(message: MailMessage): Promise<void>
}
