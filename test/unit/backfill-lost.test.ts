import { expect, test } from 'vitest'
import { tellingToRunAgain } from '../../commands/backfill.ts'
import { AppError } from '../../schemas/errors.ts'

const never = new AbortController().signal

test('a backfill whose lease is lost says that it goes on when it is run again', async () => {
  const work = () =>
    Promise.reject(new AppError('lease_lost', 'the lease backfill:mainnet is lost: Kafka: append failed'))
  await expect(tellingToRunAgain(work, never)).rejects.toMatchObject({
    code: 'lease_lost',
    message: 'the lease backfill:mainnet is lost: Kafka: append failed. Run it again, it goes on where it was.',
  })
})

test('other failures of a backfill are told as they are', async () => {
  const error = new AppError('usage', 'wrong')
  await expect(tellingToRunAgain(() => Promise.reject(error), never)).rejects.toBe(error)
})
