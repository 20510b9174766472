import { describe, expect, test } from 'vitest'
import { importLines, line } from '#test/support/import.ts'

const texts = Array.from(
  { length: 20 },
  (_, index) => `Rule ${index}: a keeper of bees registers every hive before the first of May.`,
)
const corpus = (changed: Readonly<Record<number, string>>): string =>
  texts.map((text, index) => line(`r${index}`, changed[index] ?? text, { section: String(index) })).join('\n')

describe('ids across imports', () => {
  test('one changed line changes the chunk_id of its passage and no other id', async () => {
    const before = await importLines(corpus({}))
    const after = await importLines(corpus({ 7: 'Rule 7: no hive is registered at night.' }))
    const changed = before.passages.flatMap((passage, index) =>
      passage.chunk_id === after.passages[index]?.chunk_id ? [] : [index],
    )
    expect(changed).toEqual([7])
    expect(after.passages.map((passage) => passage.document)).toEqual(
      before.passages.map((passage) => passage.document),
    )
  })

  test('a revision keeps its id while its dates stay, and has another one when they change', async () => {
    const [open, closed, again] = await Promise.all(
      [{}, { until: '2030-01-01' }, {}].map(
        async (dates) => await importLines(line('a', 'A hive is a house of bees.', dates)),
      ),
    )
    expect(open?.passages[0]?.document.revision_id).toBe(again?.passages[0]?.document.revision_id)
    expect(open?.passages[0]?.document.revision_id).not.toBe(closed?.passages[0]?.document.revision_id)
    expect(open?.passages[0]?.chunk_id).toBe(closed?.passages[0]?.chunk_id)
  })

  test('every passage of an import has a chunk_id of its own, even where texts are equal', async () => {
    const same = Array.from({ length: 50 }, (_, index) => line(`r${index}`, 'A hive is a house of bees.')).join('\n')
    const { passages } = await importLines(same)
    expect(new Set(passages.map((passage) => passage.chunk_id)).size).toBe(50)
    expect(passages.map((passage) => passage.ordinal)).toEqual([...passages.keys()])
  })
})
