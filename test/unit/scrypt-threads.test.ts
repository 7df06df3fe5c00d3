import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { describe, expect, test } from 'vitest'
import { ScryptThreads } from '../../api/account/scrypt-threads.ts'

// RFC 7914, section 12.
const VECTORS = [
  ['', '', { N: 16, r: 1, p: 1 }, '77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442'],
  ['password', 'NaCl', { N: 1_024, r: 8, p: 16 }, 'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162'],
] as const
const BYTES = 32

/** Niceness of the threads of this process; the field behind the command's name and sixteen more (proc_pid_stat(5)). */
function nicenesses(): readonly number[] {
  return readdirSync('/proc/self/task').map((id) => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
}

describe('threads for scrypt', () => {
  test.each(VECTORS)('derive what the RFC says of "%s" and "%s"', async (password, salt, options, derived) => {
    const threads = new ScryptThreads({ bytes: BYTES, options })
    for (let i = 0; i < 2; i++)
      expect(Buffer.from(await threads.derive(password, Buffer.from(salt))).toString('hex')).toBe(derived)
  })

  test.runIf(process.platform === 'linux')('go behind all else that runs, and leave the rest where it is', async () => {
    const before = getPriority(0)
    const threads = new ScryptThreads({ bytes: BYTES, options: { N: 1_024, r: 8, p: 1 } })
    const behind = () => nicenesses().filter((niceness) => niceness >= Math.min(before + 5, 19)).length
    const others = behind()
    await Promise.all(['a', 'b'].map((password) => threads.derive(password, Buffer.from('salt'))))
    expect(behind()).toBe(others + 2)
    await threads.derive('c', Buffer.from('salt'))
    expect(behind()).toBe(others + 2)
    expect(getPriority(0)).toBe(before)
  })

  test('tell what fails, and go on', async () => {
    const threads = new ScryptThreads({ bytes: BYTES, options: { N: 1_024, r: 8, p: 1, maxmem: 1_024 } })
    for (let i = 0; i < 2; i++) await expect(threads.derive('a', Buffer.from('salt'))).rejects.toThrow()
  })
})
