import { join } from 'node:path'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { Selector } from '#core/index/passages/selector.ts'
import { sourcesIn } from '#core/index/passages/sources.ts'
import { createPlaceReader, type PlaceReader } from '#law/import/parts/text-at.ts'
import type { Captured } from '#jobs/evaluation/compare/page/neighbours.ts'
import type { BuiltArtifact } from '#jobs/version-build/artifact.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import type { BuildContext } from '#jobs/version-build/context.ts'
import { capturedBeside } from '#jobs/evaluation/compare/page/neighbours.ts'
import { whole } from '#jobs/evaluation/page/numbers.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import { reviewTools } from '#jobs/platform/page/document.ts'

/** Why a passage is in the sample. */
export const SAMPLE_KINDS = [
  'any of its document',
  'part of a text that was cut',
  'table',
  'derived date',
  'no known provision',
  'lowest coverage',
  'longest',
  'shortest',
] as const
export type SampleKind = (typeof SAMPLE_KINDS)[number]

/** A passage beside what was captured. */
export interface SampledPassage {
  readonly passage: PassageRecord
  readonly kinds: readonly SampleKind[]
  readonly captured: Captured
}

/**
 * Draws passages of each kind and of each document: those of the least chunk ids, which are hashes, so the same version
 * gives the same sample.
 * @param remainder text of captured files, by name, that lies in no passage and no named omission.
 */
export async function samplePassages(
  { source, store }: Pick<BuildContext, 'source' | 'store'>,
  { folder, manifest }: Pick<BuiltArtifact, 'folder' | 'manifest'>,
  remainder: readonly { readonly source: string; readonly text: string }[],
): Promise<readonly SampledPassage[]> {
  const derived = await revisionsWithDerivedDates(folder, manifest)
  const drawn = createDraw({ derived, uncovered: uncoveredCharacters(source.snapshots, remainder) })
  for await (const passage of passagesIn(join(folder, 'passages.jsonl'))) drawn.offer(passage)
  const sample = drawn.sample()
  const captured = await readCaptured(
    { source, store },
    sample.map(({ passage }) => passage),
  )
  return sample
    .map(({ passage, kinds }) => ({ passage, kinds, captured: captured.get(passage) ?? NOT_KNOWN }))
    .sort(
      ({ passage: one }, { passage: other }) =>
        compare(one.document.title, other.document.title) || byPlace(one, other),
    )
}

export async function readCaptured(
  { source, store }: Pick<BuildContext, 'source' | 'store'>,
  passages: readonly PassageRecord[],
): Promise<ReadonlyMap<PassageRecord, Captured>> {
  const files = new Map(source.snapshots.map((one) => [one.id, one]))
  using reader = createPlaceReader()
  const captured = new Map<PassageRecord, Captured>()
  // Passages of one file follow each other, because the reader keeps one file parsed.
  const inFileOrder = passages.toSorted(
    (one, other) => compare(one.citation.source_snapshot_id, other.citation.source_snapshot_id) || byChunk(one, other),
  )
  for (const passage of inFileOrder) {
    const file = files.get(passage.citation.source_snapshot_id)
    if (file === undefined) continue
    const text = await capturedText(reader, await store.fetch(store.snapshotFile(file.sha256)), passage.selector)
    captured.set(passage, { ...text, source: file.sourceName })
  }
  return captured
}

async function revisionsWithDerivedDates(folder: string, manifest: Manifest): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for await (const { revisions } of sourcesIn(folder, manifest.files['sources.jsonl']))
    for (const { revision_id: id, derived } of revisions)
      if (DATE_FIELDS.some((field) => derived[field] !== undefined)) ids.add(id)
  return ids
}

const DATE_FIELDS = ['published_at', 'effective_at', 'effective_to'] as const

/** What is known of a version beside its passages. */
interface SampledFacts {
  /** Ids of revisions with a derived date. */
  readonly derived: ReadonlySet<string>
  /** Characters in no passage by snapshot, of those that have some. */
  readonly uncovered: ReadonlyMap<string, number>
}

function uncoveredCharacters(
  snapshots: BuildContext['source']['snapshots'],
  remainder: readonly { readonly source: string; readonly text: string }[],
): ReadonlyMap<string, number> {
  const ids = new Map(snapshots.map(({ id, sourceName }) => [sourceName, id]))
  const characters = new Map<string, number>()
  for (const { source, text } of remainder) {
    const id = ids.get(source)
    if (id !== undefined) characters.set(id, (characters.get(id) ?? 0) + text.length)
  }
  return characters
}

interface Drawn {
  readonly passage: PassageRecord
  readonly kinds: readonly SampleKind[]
}

function createDraw(facts: SampledFacts) {
  const { sampledOfKindMax: ofKind, sampledDocumentsMax: ofDocuments } = BUILD_BOUNDS
  const kinds = kindsBy(facts)
  const byKind = new Map<SampleKind, PassageRecord[]>(SAMPLE_KINDS.map((kind) => [kind, []]))
  const byDocument = new Map<string, PassageRecord>()
  const keep = (kind: SampleKind, passage: PassageRecord, order: Order): void => {
    const list = byKind.get(kind) ?? []
    list.push(passage)
    list.sort(order)
    list.splice(ofKind)
  }
  return {
    offer(passage: PassageRecord) {
      for (const [kind, order, fits] of kinds) if (fits(passage)) keep(kind, passage, order)
      const known = byDocument.get(passage.document.id)
      if (known === undefined || byChunk(passage, known) < 0) byDocument.set(passage.document.id, passage)
    },
    sample(): readonly Drawn[] {
      const documents = [...byDocument.values()].sort(byChunk).slice(0, ofDocuments)
      const drawn = new Map<PassageRecord, SampleKind[]>()
      for (const [kind, passages] of [...byKind, ['any of its document', documents] as const])
        for (const passage of passages) drawn.set(passage, [...(drawn.get(passage) ?? []), kind])
      return Array.from(drawn, ([passage, of]) => ({ passage, kinds: of }))
    },
  }
}

type Order = (a: PassageRecord, b: PassageRecord) => number

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byChunk: Order = (a, b) => compare(a.chunk_id, b.chunk_id)
const byPlace: Order = (a, b) => a.position.ordinal - b.position.ordinal || byChunk(a, b)
const byLength: Order = (a, b) => a.text.length - b.text.length || byChunk(a, b)

/** The kinds that a passage may be of by itself, and which passages of the kind come first. */
function kindsBy({
  derived,
  uncovered,
}: SampledFacts): readonly (readonly [SampleKind, Order, (passage: PassageRecord) => boolean])[] {
  const uncoveredAt = ({ citation }: PassageRecord): number => uncovered.get(citation.source_snapshot_id) ?? 0
  return [
    ['part of a text that was cut', byChunk, ({ citation }) => / \(part \d+ of \d+[^)]*\)$/.test(citation.label)],
    ['table', byChunk, ({ text }) => (text.match(/^.*(?:\t|\S \| \S).*$/gm)?.length ?? 0) > 1],
    ['derived date', byChunk, ({ document }) => derived.has(document.revision_id)],
    ['no known provision', byChunk, ({ references }) => references.length === 0],
    ['lowest coverage', (a, b) => uncoveredAt(b) - uncoveredAt(a) || byChunk(a, b), (one) => uncoveredAt(one) > 0],
    ['longest', (a, b) => byLength(b, a), () => true],
    ['shortest', byLength, () => true],
  ]
}

const NOT_KNOWN: Captured = { source: '', before: '', own: '', after: '' }

/** White space that indents the elements of a file, which no browser shows, is no part of its text. */
export function withoutIndents(text: string): string {
  return text.replaceAll(/[^\S\n]+/g, ' ').replaceAll(/ ?\n\s*/g, '\n')
}

/** Of a place in bytes or characters more is shown than the place states; of another one what it states. */
async function capturedText(reader: PlaceReader, path: string, selector: Selector): Promise<Omit<Captured, 'source'>> {
  const shown = selector.type === 'XPathSelector' ? withoutIndents : (text: string): string => text
  const own = shown((await reader.textAt(path, selector)) ?? '')
  const { prefix = '', suffix = '' } = selector
  if (!('start' in selector)) return { before: shown(prefix).trimStart(), own, after: shown(suffix).trimEnd() }
  const { start, end } = selector
  const { sampledContextCharacters: length, sampledAroundCharacters: around } = BUILD_BOUNDS
  const at = async (from: number, to: number): Promise<string> => {
    if (from === to) return ''
    const range = { start: from, end: to }
    const place =
      selector.type === 'DataPositionSelector' ? { type: selector.type, ...range } : { ...selector, ...range }
    return shown((await reader.textAt(path, place)) ?? '')
  }
  return {
    before: (await at(Math.max(0, start - around), start)).slice(-length).trimStart().toWellFormed(),
    own,
    after: ((await at(end, end + around)) || suffix).slice(0, length).trimEnd().toWellFormed(),
  }
}

/** Shows sampled passages beside their captured source, by document, with a box to tick. */
export function sampleSection(sample: readonly SampledPassage[]): Markup {
  if (sample.length === 0) return NOTHING
  const byDocument = Map.groupBy(sample, ({ passage }) => passage.document.id)
  const counts = SAMPLE_KINDS.map((kind) => [kind, sample.filter(({ kinds }) => kinds.includes(kind)).length] as const)
  return html`<h2>Passages beside their source</h2>
    <p class="small">
      No version was active, so there is nothing to compare with. ${whole(sample.length)} passages were drawn to be read
      beside the captured files; one may be of several kinds:
      ${counts.map(([kind, count]) => `${kind} (${whole(count)})`).join(', ')}.
    </p>
    <section>
      ${reviewTools(SAMPLE_KINDS.map((kind) => [nameOf(kind), kind]))}
      ${[...byDocument].map(
        ([id, of]) =>
          html`<details class="group" open>
            <summary>
              <b><bdi>${of[0]?.passage.document.title ?? ''}</bdi></b>
              <span class="soft small">${whole(of.length)} of its passages</span>
            </summary>
            <p class="small"><a href="#document-${id}">All passages of the document</a></p>
            ${of.map(card)}
          </details>`,
      )}
    </section>`
}

/** A name without spaces. */
function nameOf(kind: string): string {
  return kind.replaceAll(' ', '_')
}

function card({ passage, kinds, captured }: SampledPassage): Markup {
  const { chunk_id: id, citation, document, in_force_from: from, in_force_to: to, text, metadata } = passage
  const until = to === null ? '' : ` to ${to}`
  return html`<article class="miss change" id="${id}" data-kinds="${kinds.map(nameOf).join(' ')}">
    <p class="small">
      <label
        ><input type="checkbox" class="tick" /> <b><bdi>${citation.label}</bdi></b></label
      >
      <span class="soft">· ${kinds.join(', ')} · ${metadata.language} · in force from ${from}${until}</span>
    </p>
    <div class="sides">
      <div>
        <p class="soft small">as it is served</p>
        <p class="words"><bdi>${text}</bdi></p>
      </div>
      <div>${capturedBeside(captured, passage)}</div>
    </div>
    <p class="soft small">published ${document.published_at.slice(0, 10)} · ${document.authority}</p>
  </article>`
}
