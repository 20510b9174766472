import { describe, expect, test } from 'vitest'
import { SAMPLES, TEXT, mappingOf } from './corpus-samples.ts'
import { importLines } from '#test/support/import.ts'

describe.each(Object.entries(SAMPLES))('the mapping of %s', (name, samples) => {
  test.each(samples)('cites $label', async ({ id, metadata, label, anchor, from, reference }) => {
    const { passages, report } = await importLines(
      JSON.stringify({ id, title: 'A title', text: TEXT, metadata }),
      await mappingOf(name),
    )
    expect(report.entries).toEqual([])
    expect(passages[0]?.citation.label).toBe(label)
    expect(passages[0]?.citation.source_anchor).toContain(anchor)
    expect(passages[0]?.in_force_from).toBe(from)
    expect(passages[0]?.references).toEqual([reference])
  })
})
