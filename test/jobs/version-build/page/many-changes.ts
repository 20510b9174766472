import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { changesSection, changesTables, changesTitle, passagesSection } from '#jobs/evaluation/compare/page/changes.ts'
import { readPlaces } from '#jobs/evaluation/compare/page/neighbours.ts'
import { renderPage } from '#jobs/evaluation/page/page.ts'
import { CHANGED_REPORT } from '#test/jobs/evaluation/page/evaluation-report.ts'

export const MANY = { passages: 16_000, changes: 500 }
const PER_DOCUMENT = 160
/** Of a provision of law, about as many as the acts of the EU have. */
const TEXT_CHARACTERS = 900

/** The page of a version of many passages, of which some changed; the passages are copies of one that was built. */
export async function pageOfMany(built: string, work: string): Promise<string> {
  const pattern = await firstPassage(built)
  const records = Array.from({ length: MANY.passages }, (_, at) => copyOf(pattern, at))
  await mkdir(work, { recursive: true })
  await writeFile(join(work, 'passages.jsonl'), records.map((one) => `${JSON.stringify(one)}\n`).join(''))
  const every = MANY.passages / MANY.changes
  const changes = records
    .filter((_, at) => at % every === 0)
    .map(({ document, metadata, provision, in_force_from: day, citation, text }) => ({
      kind: 'passages_changed' as const,
      document: { id: document.id, title: document.title, canonical_url: document.canonical_url },
      language: metadata.language,
      provision,
      day,
      label: citation.label,
      before: { text: text.replaceAll(' must ', ' shall ') },
      after: { text },
    }))
  const places = await readPlaces(changes, { before: work, after: work })
  const sections = {
    title: changesTitle(CHANGED_REPORT, changes),
    first: changesSection(CHANGED_REPORT, changes, places),
    tables: changesTables(CHANGED_REPORT, changes.length),
    last: await passagesSection(work),
  }
  return renderPage(CHANGED_REPORT, sections)
}

async function firstPassage(folder: string): Promise<PassageRecord> {
  for await (const passage of passagesIn(join(folder, 'passages.jsonl'))) return passage
  throw new Error('the version has no passage')
}

function copyOf(pattern: PassageRecord, at: number): PassageRecord {
  const document = Math.floor(at / PER_DOCUMENT)
  const ordinal = at % PER_DOCUMENT
  const sentence = `Rule ${at}: the keeper must keep the record of pier ${at % 97} for ${at % 11} years. `
  return {
    ...pattern,
    chunk_id: `chk_${String(at).padStart(40, '0')}`,
    source_id: `r${at}`,
    provision: `rule ${ordinal}`,
    text: sentence.repeat(Math.ceil(TEXT_CHARACTERS / sentence.length)).trim(),
    citation: { ...pattern.citation, label: `Act ${document}, rule ${ordinal}` },
    document: {
      ...pattern.document,
      id: `00000000-0000-4000-9000-${String(document).padStart(12, '0')}`,
      title: `Act ${document}`,
    },
    position: { ordinal, document_passages: PER_DOCUMENT },
  }
}
