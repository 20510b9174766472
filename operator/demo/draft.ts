import { join } from 'node:path'
import { z } from 'zod'
import { createLog } from '#core/platform/log.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { html } from '#jobs/platform/page/markup.ts'
import { mappingOf } from '#law/import/corpus/corpus-mapping.ts'
import { REQUIRED_FIELDS, alternativesOf, readMapping } from '#law/import/mapping/mapping.ts'
import { createFieldReader } from '#law/import/passage/fields.ts'
import { passagesOf } from '#law/import/passage/passage.ts'
import { createSourceReader, stagedOf, type StageInput } from '#law/import/passage/stager.ts'
import type { SourceSnapshot } from '#law/import/record/record.ts'
import { shareOf } from '#law/readers/coverage.ts'
import { SOURCE_YAML, listSource } from '#law/sources/list.ts'
import { renderDocument, renderDocuments, type CutPassage, type ListedDocument } from '#operator/console/page.ts'
import { documentSchema, startConsole } from '#operator/console/server.ts'
import type { DemoCorpus } from './corpus.ts'
import STAND_INS_TABLE from './stand-ins.json' with { type: 'json' }

/** A file of a draft has no revision yet: its name stands for it. */
const fileSchema = documentSchema.extend({ revision: z.string() })

/** Opens a page of how an import cuts the files of a corpus, whatever they lack. Nothing is stored or served. */
export async function openDraft(corpus: DemoCorpus) {
  async function documents() {
    const files: ListedDocument[] = []
    for await (const { listed } of draftFiles(corpus)) files.push(listed)
    const said = files.some(({ unserved }) => unserved !== undefined)
      ? html`<p class="verdict bad">State what is missing in ${join(corpus.folder, SOURCE_YAML)}, and read again.</p>`
      : html`<p class="verdict good">No field is missing: start again without --draft.</p>`
    const again = html`<form action="documents" data-into="held"><button>Read again</button></form>`
    return renderDocuments(files, html`${said} ${again}`)
  }
  async function document(body: unknown) {
    const { revision: file, from } = fileSchema.parse(body)
    for await (const { passages } of draftFiles(corpus, file)) return renderDocument(passages, from)
    throw new OperatorError('There is no such file: read the folder again.')
  }
  return await startConsole(corpus.title, { '/documents': documents, '/document': document }, createLog('page', 'warn'))
}

/** Stands in the lineage of a field that is not stated. */
const MISSING = 'missing'
/** What the reader of fields takes for those that are missing; for all others a dash. */
const STAND_INS: Readonly<Record<string, string>> = STAND_INS_TABLE

/** @param only the one file that is read. @throws OperatorError where there is nothing to read. */
export async function* draftFiles({ source, mappingFile }: Pick<DemoCorpus, 'source' | 'mappingFile'>, only?: string) {
  const stated = mappingFile === undefined ? await mappingOf(source) : await readMapping(mappingFile)
  const fields = { ...stated.fields }
  for (const name of REQUIRED_FIELDS)
    fields[name] = [...alternativesOf(fields[name] ?? []), { from: STAND_INS[name] ?? '–', derived: MISSING }]
  const mapping = { ...stated, fields }
  const { files } = await listSource(source, mapping.format)
  const input = { mapping, snapshots: files.map((file) => ({ ...file, id: file.sourceName })), knowledgeBaseId: '' }
  const itemsOf = createSourceReader(input)
  for (const snapshot of input.snapshots)
    if (only === undefined || only === snapshot.sourceName) yield await draftOf(snapshot, input, itemsOf(snapshot))
}

/** A passage before what the other records decide of it. */
const ALONE = { occurrence: 0, effective_to: null, derived: false, ordinal: 0, number: null }

async function draftOf(
  { sourceName: file }: SourceSnapshot,
  input: StageInput,
  items: ReturnType<ReturnType<typeof createSourceReader>>,
) {
  const fieldsOf = createFieldReader(input.mapping)
  const [missing, notes] = [new Set<string>(), new Set<string>()]
  const cut: CutPassage['passage'][] = []
  let read = 'read'
  for await (const item of items) {
    if (item.kind === 'coverage') read = `${(shareOf(item.coverage) * 100).toFixed(2)} % of its text is read`
    else if (item.kind === 'warning') notes.add(item.message)
    else if (item.kind === 'fault') notes.add(item.reason)
    if (item.kind !== 'record') continue
    const staged = stagedOf(input, item, fieldsOf(item), file)
    if ('reason' in staged) notes.add(staged.reason)
    else {
      for (const [name, rule] of Object.entries(staged.fields.lineage)) if (rule === MISSING) missing.add(name)
      cut.push(...passagesOf(staged, ALONE, input.mapping))
    }
  }
  // A label begins with the title.
  if (missing.has('title')) missing.delete('citation_label')
  const lacks = `${missing.size} ${missing.size === 1 ? 'field' : 'fields'} missing: ${[...missing].join(', ')}`
  const unserved = missing.size > 0 ? lacks : cut.length === 0 ? ([...notes][0] ?? 'it gives no passage') : undefined
  const passages = cut.map(({ document, citation, in_force_from: from, ...passage }) => ({
    passage: {
      ...passage,
      document: { ...document, revision_id: file, authority: file },
      citation: missing.has('canonical_url') ? { ...citation, source_anchor: '' } : citation,
      in_force_from: missing.has('effective_at') ? '–' : from,
    },
    withdrawn: false,
    unserved: unserved === undefined ? 'no field is missing' : `not served: ${unserved}`,
  }))
  const first = passages[0]?.passage
  const listed: ListedDocument = {
    revision_id: file,
    snapshot: '',
    title: first?.document.title ?? file,
    authority: file,
    file: [read, ...notes].slice(0, 4).join(' · '),
    canonical_url: first?.citation.source_anchor ?? '',
    in_force_from: first?.in_force_from ?? '–',
    in_force_to: null,
    capturedAt: null,
    passages: passages.length,
    unserved,
  }
  return { listed, passages }
}
