import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { referencesSchema, type ActEntry } from '#core/index/references/layout.ts'
import { actNamed, createActAliases } from '#law/citations/parser.ts'
import type { Side } from '#core/db/version-differences.ts'
import { damagedArtifact } from '#jobs/evaluation/altered-candidate.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { ComparedContents } from './compared-passages.ts'
import type { NamedChange } from './changes-file.ts'
import { keysOf } from './served-fields.ts'
import TABLES from './tables.json' with { type: 'json' }

/** What the rows of a derived table are made from, in row order. */
const ROW_INPUTS = {
  words: ({ metadata, heading, text }: PassageRecord) => [metadata.language, heading, text],
  rows: ({ chunk_id, document, provision }: PassageRecord) => [chunk_id, document.id, document.revision_id, provision],
  facets: ({ metadata, subjects, in_force_from, in_force_to, document }: PassageRecord) => [
    metadata,
    subjects,
    in_force_from,
    in_force_to,
    document.id,
  ],
  references: ({ references }: PassageRecord) => references,
} as const
type RowInput = keyof typeof ROW_INPUTS

/**
 * Whether what a table is made from explains that it differs. While the inputs of a derived table are equal it must be
 * equal, byte for byte.
 */
type Explains = (before: ComparedTables, after: ComparedTables) => boolean

const rows =
  (...inputs: readonly RowInput[]): Explains =>
  (before, after) =>
    inputs.some((input) => before.inputs.get(input) !== after.inputs.get(input))
const WORDS = rows('words')
const ORDERED_WORDS = rows('words', 'rows')

const EXPLAINS: Readonly<Record<string, Explains>> = {
  /** Compared field by field, of which each difference is a listed change. */
  fields: () => true,
  /** The captured sources, from which nothing is made that a search reads. */
  sources: () => true,
  /** From the bytes of `passages.jsonl`. */
  passages: (before, after) =>
    before.manifest.files['passages.jsonl'].sha256 !== after.manifest.files['passages.jsonl'].sha256,
  facets: rows('facets'),
  rows: rows('rows'),
  references: rows('references'),
  words: WORDS,
  'ordered words': ORDERED_WORDS,
  /** An artifact of a release up to 0.2.0 lacks the words of n-grams. */
  'n-gram words': (before, after) =>
    ORDERED_WORDS(before, after) || hasNgramWords(before.manifest) !== hasNgramWords(after.manifest),
  /** From the words of the passages and the embedding space. */
  vectors: (before, after) =>
    WORDS(before, after) ||
    canonicalJson(before.manifest.embedding ?? null) !== canonicalJson(after.manifest.embedding ?? null),
  /** From the search questions, and the rows and words of their passages. */
  'search questions': (before, after) =>
    ORDERED_WORDS(before, after) ||
    valueOf('search-questions.jsonl', before.manifest) !== valueOf('search-questions.jsonl', after.manifest),
}

/** What the manifest states beside its files and that a search uses. The profile repeats description and day. */
type DerivedField = Exclude<
  keyof Manifest,
  | 'format'
  | 'version_id'
  | 'passages'
  | 'documents'
  | 'embedding'
  | 'description'
  | 'as_of'
  | 'snapshots_digest'
  | 'merkle_root'
  | 'files'
>
type Table = keyof Manifest['files'] | DerivedField

/** What explains each table of an artifact. A new one without a comparison does not compile. */
const MADE_FROM: Readonly<Record<Table, string>> = TABLES.made_from
/** Tables that a version has for its engine; a candidate may have another one. */
const OF_ENGINE: ReadonlySet<string> = new Set(TABLES.of_engine)

/** Digest (hex) of each input over all rows. */
export type RowInputs = ReadonlyMap<RowInput, string>

/** Collects the inputs of the derived tables while the passages are read. */
export function createRowInputs() {
  const hashes = keysOf(ROW_INPUTS).map((input) => [input, createHash('sha256')] as const)
  return {
    add(passage: PassageRecord) {
      for (const [input, hash] of hashes) hash.update(`${JSON.stringify(ROW_INPUTS[input](passage))}\n`)
    },
    finish: (): RowInputs => new Map(hashes.map(([input, hash]) => [input, hash.digest('hex')])),
  }
}

export interface ComparedTables {
  readonly manifest: ComparedContents['manifest']
  readonly inputs: RowInputs
}

/**
 * Compares the derived tables of both artifacts. An endpoint may send other vectors for the same texts, which is a
 * change that approvals accept by name; nothing else explains a derived table whose inputs are equal.
 * @throws OperatorError naming a table that differs although no listed change explains it.
 */
export function* tableChanges(before: ComparedTables, after: ComparedTables): Generator<NamedChange> {
  const isOtherEngine = before.manifest.engine?.name !== after.manifest.engine?.name
  for (const table of keysOf(MADE_FROM)) {
    if (isOtherEngine && OF_ENGINE.has(table)) continue
    if (valueOf(table, before.manifest) === valueOf(table, after.manifest)) continue
    if (EXPLAINS[MADE_FROM[table]]?.(before, after) === true) continue
    if (MADE_FROM[table] !== 'vectors') throw unexplained(table)
    yield { kind: 'vectors_changed', file: table }
  }
}

function hasNgramWords({ files }: ComparedContents['manifest']): boolean {
  return files['grams.words'] !== undefined
}

function valueOf(table: Table, manifest: ComparedContents['manifest']): string | undefined {
  if (table === 'clusters' || table === 'cosines' || table === 'search_questions')
    return canonicalJson(manifest[table] ?? null)
  // Name, UUID and operations of an index are new for every version.
  if (table === 'engine') return manifest.engine?.digest
  return manifest.files[table]?.sha256
}

function unexplained(table: Table): OperatorError {
  return new OperatorError(
    `The candidate differs from the active version in ${table}, a difference that no listed change explains: build ` +
      'the candidate again. If it differs again, report the release, which makes another table from the same passages.',
  )
}

/**
 * Reads the acts of an artifact with their names.
 * @throws OperatorError if the file is not the one of the signed manifest.
 */
export async function readActs(side: Side, { folder, versionId, manifest }: ComparedContents) {
  const bytes = await readFile(join(folder, 'references.json')).catch(() => undefined)
  if (bytes === undefined || sha256(bytes).toString('hex') !== manifest.files['references.json'].sha256)
    throw damagedArtifact(
      side,
      versionId,
      new ArtifactError('references.json does not have the SHA-256 that the manifest states.'),
    )
  return referencesSchema.parse(JSON.parse(bytes.toString('utf8'))).acts
}

/**
 * Yields every name of an act that was given, taken away, or that means another act in a question. A name that meant
 * nothing and now means an act that only the candidate holds is an addition.
 */
export function* aliasChanges(before: readonly ActEntry[], after: readonly ActEntry[]): Generator<NamedChange> {
  const [own, other] = [namesOf(before), namesOf(after)]
  const held = new Set(before.map(({ id }) => id))
  for (const name of [...new Set([...own.acts.keys(), ...other.acts.keys()])].toSorted()) {
    const [meant, means] = [actNamed(name, own.aliases) ?? null, actNamed(name, other.aliases) ?? null]
    if (meant === means && own.acts.get(name) === other.acts.get(name)) continue
    const isAddition = meant === null && means !== null && !held.has(means)
    yield { kind: isAddition ? 'aliases_added' : 'aliases_changed', name, before: meant, after: means }
  }
}

/** @returns `acts` that have a name, as JSON. */
function namesOf(acts: readonly ActEntry[]) {
  const pairs = acts.flatMap(({ id, aliases }) => [id, ...aliases].map((name) => [name, id] as const))
  const byName = Map.groupBy(pairs, ([name]) => name)
  return {
    aliases: createActAliases(pairs),
    acts: new Map([...byName].map(([name, held]) => [name, JSON.stringify(held.map(([, id]) => id).toSorted())])),
  }
}
