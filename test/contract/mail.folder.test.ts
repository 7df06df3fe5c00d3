import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openFolderMail } from '../../infra/mail/folder.ts'
import { type ArrivedMail, mailContract } from './mail.ts'

mailContract('folder', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-mail-'))
  const folder = join(directory, 'data', 'mail')
  return {
    mail: openFolderMail({ folder }),
    async arrived() {
      const names = await readdir(folder).catch(() => [])
      const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
      return texts.map(parse).sort((a, b) => (a.subject < b.subject ? -1 : 1))
    },
    refuse: () => writeFile(join(directory, 'data'), 'a file where the folder should be'),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
})

function parse(text: string): ArrivedMail {
  const end = text.indexOf('\n\n')
  const head = text.slice(0, end)
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1] ?? ''
  return { to: field('To'), subject: field('Subject'), text: text.slice(end + 2) }
}

test('a message in the folder is for its owner alone', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-mail-'))
  try {
    await openFolderMail({ folder: directory }).send({ to: 'ann@example.org', subject: 'A code', text: '1234\n' })
    const [name = ''] = await readdir(directory)
    expect(name).toMatch(/\.eml$/)
    expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600)
  } finally {
    await rm(directory, { recursive: true })
  }
})
