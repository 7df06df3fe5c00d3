import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import { makeFolders, syncFolder } from '../durable-folder.ts'
import type { Mail, MailMessage } from '../ports/mail.ts'
import { checkMessage } from './check-message.ts'

const ONLY_ITS_OWNER = 0o600

/**
 * Mail for who has no mail server: each message is a file `<time>-<random>.eml` of the folder, newest last in the order of names. A file has
 * its name when it is whole and on the disk. It holds what is secret in the message, so it is its owner's alone; nobody removes it.
 */
export function openFolderMail({ folder }: { readonly folder: string }): Mail {
  return {
    async send(message) {
      checkMessage(message)
      const sent = new Date()
      const name = `${sent.toISOString().replaceAll(':', '-')}-${randomUUID()}`
      await withFileErrors(async () => {
        makeFolders(folder)
        await writeWhole(join(folder, name), toText(message, sent))
        syncFolder(folder)
      })
    },
    async [Symbol.asyncDispose]() {},
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  const unnamed = `${path}.new`
  try {
    const file = await open(unnamed, 'wx', ONLY_ITS_OWNER)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unnamed, `${path}.eml`)
  } catch (error) {
    await rm(unnamed, { force: true })
    throw error
  }
}

/** As mail programs read it (RFC 5322). */
function toText({ to, subject, text }: MailMessage, sent: Date): string {
  const head = [
    `To: ${to}`,
    `Subject: ${subject}`,
    `Date: ${sent.toUTCString().replace('GMT', '+0000')}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
  ]
  return `${head.join('\n')}\n\n${text}`
}

async function withFileErrors(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    throw new AppError('mail', `the folder for mail cannot be written to (${error.code})`, { retryable: true })
  }
}
