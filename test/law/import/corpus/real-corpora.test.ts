import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { codePointsOf } from '#law/readers/text.ts'
import { SAMPLES, TEXT, mappingOf } from './corpus-samples.ts'
import { importLines, line, smallMapping, type Imported } from '#test/support/import.ts'

const CORPORA = fileURLToPath(new URL('../../../../../shared/data', import.meta.url))
const present = existsSync(CORPORA)

/** The corpus, or its first lines; where it is absent, the sample above. */
async function importCorpus(name: string, linesMax: number): Promise<Imported & { readonly records: number }> {
  const sample = (SAMPLES[name] ?? []).map(({ id, metadata }) =>
    JSON.stringify({ id, title: 'A title', text: TEXT, metadata }),
  )
  const lines = present
    ? (await readFile(join(CORPORA, name, 'corpus.jsonl'), 'utf8')).trimEnd().split('\n').slice(0, linesMax)
    : sample
  return { ...(await importLines(lines, await mappingOf(name))), records: lines.length }
}

const STAND_IN = present ? '' : ' (../shared/data is absent: the inline sample stands in)'

describe('a real corpus', () => {
  if (!present)
    console.warn(`${CORPORA} is absent: the real corpora are NOT tested in this run, only the inline sample`)

  test.each([
    ['eu', STAND_IN, Infinity, 0.99, 0.85],
    ['fr', STAND_IN, Infinity, 0.99, 1],
    ['cfpb', STAND_IN, 2_000, 0.9, 0.95],
    ['de', STAND_IN, 2_000, 0.97, 1],
    ['obliqa', STAND_IN, 2_000, 0.6, 0.8],
  ])(
    '%s%s: nearly all of it imports within every bound, each id, anchor and provision sound, and the ' +
      'rest is accounted for',
    async (name, _standIn, linesMax, share, referenced) => {
      const { passages, report, records } = await importCorpus(name, linesMax)
      expect(report.records_read).toBe(records)
      expect(report.skipped).toBeLessThanOrEqual(records * (1 - share))
      expect(Object.values(report.reasons).reduce((sum, count) => sum + count, 0)).toBe(report.skipped)
      expect(new Set(passages.map((passage) => passage.source_id)).size).toBe(records - report.skipped)
      expect(new Set(passages.map((passage) => passage.chunk_id)).size).toBe(passages.length)
      expect(report.referenced).toBeGreaterThanOrEqual(passages.length * referenced)
      expect(new Set(passages.map(({ document, provision }) => `${document.revision_id} ${provision}`)).size).toBe(
        passages.length,
      )
      for (const { text, citation, document, in_force_from, in_force_to, heading } of passages) {
        if (codePointsOf(text) > INDEX_BOUNDS.passageCharactersMax || heading === '')
          throw new Error(`${citation.label}: text or heading out of bounds`)
        if (!citation.source_anchor.startsWith(`${document.canonical_url}#`))
          throw new Error(`${citation.label}: ${citation.source_anchor}`)
        if (citation.source_anchor.endsWith('#:~:text=')) throw new Error(`${citation.label}: an empty text fragment`)
        if (/undefined|\{|\$\d/.test(citation.label)) throw new Error(`label not filled: ${citation.label}`)
        if (in_force_to !== null && in_force_to <= in_force_from) throw new Error(`${citation.label}: never in force`)
      }
    },
  )
})

test('more acts than a version may hold stop the import', async () => {
  const records = Array.from({ length: IMPORT_BOUNDS.actsMax + 1 }, (_, n) => line(`r${n}`, TEXT, { celex: `x${n}` }))
  await expect(importLines(records, smallMapping({ act: 'celex:{metadata.celex}' }))).rejects.toThrow(
    `more than ${IMPORT_BOUNDS.actsMax} different acts: map them to fewer`,
  )
})
