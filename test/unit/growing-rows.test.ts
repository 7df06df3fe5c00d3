import { expect, test } from 'vitest'
import { GrowingRows } from '../../processors/nft/growing-rows.ts'

const newRows = () => new GrowingRows({ standard: ['ERC721', 'ERC1155'] })

test('takes texts by their places, however many rows there are', () => {
  const rows = newRows()
  const codes = Array.from({ length: 1_000 }, (_, row) => row % 2)
  for (const code of codes) rows.next().standard.push(code)
  const { standard } = rows.take({ chain: 'eth', start: 1 })
  expect([...(standard as Iterable<string>)]).toEqual(codes.map((code) => (code === 0 ? 'ERC721' : 'ERC1155')))
})

test.each([2, -1, 255])('refuses the place %i, where two texts have none', (code) => {
  const { standard } = newRows().next()
  expect(() => standard.push(code)).toThrow(new RangeError(`a column of 2 texts has no text ${code}`))
})
