import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { importSection } from '#jobs/version-build/page/import-section.ts'
import { EMPTY_REPORT } from '#test/support/import.ts'

test('the page tells withdrawals that left something out from those that left nothing out', () => {
  const [first, second, document] = [randomUUID(), randomUUID(), randomUUID()]
  const drop = [first, second].map((id) => ({ id, document, provisions: [], chunk_id: `chk_${id}` }))
  const withdrawals = { drop, restore: [], withdrawals_without_passages: [second] }
  const { source } = importSection({ mapping: {}, report: EMPTY_REPORT }, undefined, withdrawals)
  const [, out = '', nothing = ''] =
    /left out(.*?)Withdrawals that left nothing out(.*?)Withdrawals that/s.exec(source) ?? []
  expect([out.includes(first), out.includes(second)]).toEqual([true, false])
  expect([nothing.includes(first), nothing.includes(second)]).toEqual([false, true])
})
