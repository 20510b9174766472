import { join } from 'node:path'
import type { VersionRow } from '#core/db/versions.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import type { Withdrawn } from '#core/domain/search.ts'
import { foldKey } from '#core/identity/fold.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { canonicalReference, createActAliases, referencesIn } from '#law/citations/parser.ts'
import { openReferencesReader } from '#core/index/references/reader.ts'
import { OperatorError } from '#core/platform/errors.ts'

/** What is withdrawn, and how much of the version that is. */
export interface WithdrawalTarget extends Withdrawn {
  /** For people: the citation, or the title of the document. */
  readonly label: string
  readonly passages: number
}

/** A version, and the slug of its knowledge base. */
export type SearchedVersion = Pick<VersionRow, 'id' | 'knowledge_base'>

export interface TargetName {
  readonly what: string
  readonly document?: string | undefined
}

const LISTED_MAX = 5
const LABEL_CHARACTERS_MAX = 1_000

/**
 * Finds in a version what an operator names: a passage by its `chunk_id`; a document by its id, its title or its
 * address; a provision by its citation as replies show it, by its id in the source, or as a question names it.
 * @throws OperatorError where it is not there, or is in several documents.
 */
export async function findTarget(
  store: ArtifactStore,
  version: SearchedVersion,
  { what, document }: TargetName,
): Promise<WithdrawalTarget> {
  const folder = store.artifactFolder(version.id)
  const ofDocument = document === undefined ? undefined : documentMatch(document)
  const isWhole = documentMatch(what)
  const isPart = what.startsWith('chk_')
    ? ({ chunk_id: id }: PassageRecord) => id === what
    : provisionMatch(what, folder)
  const whole: PassageRecord[] = []
  const parts: PassageRecord[] = []
  for await (const passage of passagesIn(join(folder, 'passages.jsonl'))) {
    if (ofDocument?.(passage) === false) continue
    if (isWhole(passage)) whole.push(passage)
    if (isPart(passage)) parts.push(passage)
  }
  const found = whole.length > 0 ? whole : parts
  const [first] = found
  if (first === undefined)
    throw new OperatorError(
      `The version ${version.id} of "${version.knowledge_base}" holds no passage, provision or document ` +
        `"${what}"${document === undefined ? '' : ` in "${document}"`}: name it as a reply does (chunk_id, label or ` +
        'title), or name another version with --version.',
    )
  assertOneDocument(what, found)
  const { title } = first.document
  const target = { document: first.document.id, provisions: [], chunkId: '', passages: found.length }
  if (whole.length > 0) return { ...target, label: title.slice(0, LABEL_CHARACTERS_MAX) }
  const label = `${first.citation.label}, ${title}`.slice(0, LABEL_CHARACTERS_MAX)
  if (what.startsWith('chk_')) return { ...target, label, chunkId: what }
  return { ...target, label: label.replace(PART, ''), provisions: provisionsOf(what, found) }
}

/** What the import adds to the label of a part. */
const PART = / \(part \d+ of \d+[^)]*\)/

function documentMatch(name: string): (passage: PassageRecord) => boolean {
  const key = foldKey(name)
  return ({ document }) => document.id === key || document.canonical_url === name || foldKey(document.title) === key
}

function provisionMatch(name: string, folder: string): (passage: PassageRecord) => boolean {
  const key = foldKey(name)
  const references = namedIn(name, folder)
  const isNamed = (one: string): boolean => references.some((form) => one === form || one.startsWith(`${form}/`))
  return ({ citation, source_id: sourceId, references: held }) =>
    foldKey(citation.label.replace(PART, '')) === key || sourceId === name || held.some(isNamed)
}

/** Canonical forms of the provisions that the name is a reference to; acts alone are no provisions. */
function namedIn(name: string, folder: string): readonly string[] {
  const index = openReferencesReader(folder)
  try {
    const { certain } = referencesIn(name, createActAliases(index.actNames))
    return certain
      .filter(({ reference }) => reference.path.length > 0)
      .map(({ reference }) => canonicalReference(reference))
  } finally {
    index.close()
  }
}

function assertOneDocument(what: string, found: readonly PassageRecord[]): void {
  const documents = new Map(found.map(({ document }) => [document.id, document.title]))
  if (documents.size === 1) return
  const listed = [...documents].slice(0, LISTED_MAX).map(([id, title]) => `${id} (${title})`)
  throw new OperatorError(
    `"${what}" is in ${documents.size} documents: name one with --document ID, e.g. ${listed.join(', ')}.`,
  )
}

function provisionsOf(what: string, found: readonly PassageRecord[]): readonly string[] {
  const provisions = [...new Set(found.map(({ provision }) => provision))]
  if (provisions.length > SEARCH_BOUNDS.withdrawnProvisionsMax)
    throw new OperatorError(
      `"${what}" has ${provisions.length} provisions and parts, and one withdrawal takes ` +
        `${SEARCH_BOUNDS.withdrawnProvisionsMax}: withdraw its parts one by one, or the document.`,
    )
  return provisions.sort()
}
