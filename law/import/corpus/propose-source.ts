import { stringify } from 'yaml'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { listSource, type SourceFile } from '#law/sources/list.ts'
import { DATE_RULES, type DocumentFields, type ReadDate } from '#law/readers/document.ts'
import { dayIn, dayInNumbers, dayInWords } from '#law/readers/format.ts'
import { readBytes, readDocument } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { frontMatterAtHead, frontMatterOf } from '../record/markdown/front-matter.ts'
import { proposedRecords } from './propose-records.ts'
import FIELDS_TABLE from './proposed-fields.json' with { type: 'json' }

/** What an operator must state where no file does, and what it is. */
const NEEDED = new Map(z.array(z.tuple([z.string(), z.string()])).parse(FIELDS_TABLE.needed_of_law))

/** Fields that differ from one document to the next: where some files state them, the others are asked one by one. */
const OF_ONE_DOCUMENT: ReadonlySet<string> = new Set(['title', 'language', 'published_at', 'effective_at'])

interface Seen {
  readonly name: string
  readonly about: string
  readonly missing: readonly string[]
  /** Whether the file is read and holds law, so that nothing of it may be missing. */
  readonly holdsLaw: boolean
  /** What the texts suggest for a field that is missing, in words. */
  readonly guesses: ReadonlyMap<string, string>
}

const HEAD = `# What the files of this folder do not state. "operator import init" wrote it: correct it, then run "operator import".
# A value stands for every file that does not state it. Under "files" it is of one file, and comes before what that
# file states; each field may stand there.`

/**
 * Reads the files of a folder and writes a `source.yaml`: what was recognised as comments, and a line for each field
 * that is missing. For JSONL it proposes the rules of a mapping.
 * @throws OperatorError where there is nothing to read.
 */
export async function proposeSource(folder: string, onFile: (done: number, total: number) => void = () => undefined) {
  const jsonl = await listSource(folder, 'jsonl').catch(() => undefined)
  if (jsonl !== undefined) {
    const { lines, sentences } = await proposedRecords(jsonl.files.map(({ path }) => path))
    return { yaml: `${[HEAD, ...lines].join('\n')}\n`, sentences }
  }
  const { files } = await listSource(folder, 'law')
  if (files.length > IMPORT_BOUNDS.proposedFilesMax)
    throw new OperatorError(`more than ${IMPORT_BOUNDS.proposedFilesMax} files: propose for a part of the folder`)
  const seen: Seen[] = []
  for (const [index, file] of files.entries()) {
    onFile(index, files.length)
    seen.push(await seenIn(file))
  }
  return written(seen)
}

async function seenIn({ path, sourceName: name }: SourceFile): Promise<Seen> {
  try {
    const bytes = await readBytes(path)
    const { format, fields, provisions, warnings, cite } = await readDocument(name, bytes)
    const stated = new Set([...(format === 'markdown' ? ownFields(bytes) : []), ...fieldsStated(fields)])
    if (provisions.some((provision) => cite(provision).url !== undefined)) stated.add('canonical_url')
    const records = provisions.filter(({ text }) => text !== undefined).length
    const what = `${format}${fields.title === undefined ? '' : `, "${oneLine(fields.title)}"`}`
    const [warning] = warnings
    if (records === 0) return unread(name, `${what}, no passage${warning === undefined ? '' : `: ${warning.message}`}`)
    const about = `${what}, ${records} ${records === 1 ? 'passage' : 'passages'}${inForce(fields.effectiveFrom)}`
    const missing = [...NEEDED.keys()].filter((field) => !stated.has(field))
    const guesses = missing.length === 0 ? new Map<string, string>() : guessesOf(provisions.map(({ text }) => text))
    return { name, about, missing, holdsLaw: true, guesses }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    return unread(name, `not read: ${error.message}${error.line === undefined ? '' : ` (line ${error.line})`}`)
  }
}

function unread(name: string, about: string): Seen {
  return { name, about, missing: [], holdsLaw: false, guesses: new Map() }
}

/** Frequent words that no other of these languages has so often. */
const FREQUENT: Readonly<Record<string, string>> = FIELDS_TABLE.frequent_words
const GUESSED_CHARACTERS = 20_000
const GUESSED_DAYS_MAX = 3

function guessesOf(texts: readonly (string | undefined)[]): ReadonlyMap<string, string> {
  const text = texts.join('\n').slice(0, GUESSED_CHARACTERS)
  const counts = new Map<string, number>()
  for (const word of text.match(/\p{L}+/gu) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1)
  const scored = Object.entries(FREQUENT).map(([language, words]) => {
    return { language, score: words.split(' ').reduce((sum, word) => sum + (counts.get(word) ?? 0), 0) }
  })
  const [best, next] = scored.toSorted((a, b) => b.score - a.score)
  const printed = text.match(
    /\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2} \p{L}{3,9} \d{4}|\p{L}{3,9} \d{1,2}, \d{4}/gu,
  )
  const days = (printed ?? []).map((day) => dayIn(day) ?? dayInNumbers(day) ?? dayInWords(day))
  const distinct = [...new Set(days.filter((each) => each !== undefined))].slice(0, GUESSED_DAYS_MAX)
  const guesses = new Map<string, string>()
  if (best !== undefined && best.score > 2 * (next?.score ?? 0)) guesses.set('language', `it reads as ${best.language}`)
  for (const field of ['published_at', 'effective_at'])
    if (distinct.length > 0) guesses.set(field, `it prints ${distinct.join(', ')}`)
  return guesses
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, ' ').slice(0, 100)
}

function inForce(from: ReadDate | undefined): string {
  if (from === undefined) return ''
  return `, in force from ${from.day}${from.rule === undefined ? '' : ` (${DATE_RULES[from.rule]})`}`
}

function fieldsStated(fields: DocumentFields): readonly string[] {
  const { title, authority, language, jurisdiction, url, publishedAt, effectiveFrom } = fields
  const found = {
    title,
    authority,
    language,
    jurisdiction,
    canonical_url: url,
    published_at: publishedAt ?? effectiveFrom,
    effective_at: effectiveFrom,
  }
  return Object.entries(found).flatMap(([name, value]) => (value === undefined ? [] : [name]))
}

/** Fields of documented front matter; none where it is not understood. */
function ownFields(bytes: Uint8Array): readonly string[] {
  try {
    const front = frontMatterOf(frontMatterAtHead(bytes) ?? '', new Set(NEEDED.keys()))
    return [...front].flatMap(([name, { text }]) => (text === '' ? [] : [name]))
  } catch {
    return []
  }
}

function written(seen: readonly Seen[]) {
  const law = seen.filter(({ holdsLaw }) => holdsLaw)
  const sentences = seen.filter(({ holdsLaw }) => !holdsLaw).map(({ name, about }) => `${name}: ${about}`)
  const lines = ['#', ...seen.map(({ name, about }) => `# ${name}: ${about}`), '']
  const single = new Set<string>()
  for (const [name, what] of NEEDED) {
    const without = law.filter(({ missing }) => missing.includes(name))
    if (without.length === 0) continue
    const isShared = law.length === 1 || (without.length === law.length ? name !== 'title' : !OF_ONE_DOCUMENT.has(name))
    if (!isShared) single.add(name)
    sentences.push(`${whoLack(without, law)} ${name}: ${what}.`)
    const guessed = without.flatMap(({ name: file, guesses }) =>
      guesses.has(name) ? [`# ${file}: ${guesses.get(name)}`] : [],
    )
    if (isShared) lines.push(`# ${whoLack(without, law)} ${what}.`, ...guessed.slice(0, NAMED_MAX), `${name}:`, '')
  }
  lines.push('# Subjects that all files have, separated by commas; they may be empty.', 'subjects:')
  const apart = law.filter(({ missing }) => missing.some((name) => single.has(name)))
  if (apart.length > 0) lines.push('', 'files:')
  for (const { name, missing, guesses } of apart) {
    const hint = (field: string): string => [NEEDED.get(field), guesses.get(field)].filter(Boolean).join('; ')
    lines.push(
      `  ${stringify(name).trim()}:`,
      ...missing.filter((each) => single.has(each)).map((each) => `    ${each}:  # ${hint(each)}`),
    )
  }
  return { yaml: `${[HEAD, ...lines].join('\n')}\n`, sentences }
}

const NAMED_MAX = 5

/** The subject and verb of a sentence that says what files do not state. */
function whoLack(without: readonly Seen[], law: readonly Seen[]): string {
  if (without.length === law.length) return 'No file states'
  const named = without.slice(0, NAMED_MAX).map(({ name }) => name)
  const more = without.length > named.length ? [`and ${without.length - named.length} more`] : []
  const verb = without.length === 1 ? 'does' : 'do'
  return `${without.length} of ${law.length} files (${[...named, ...more].join(', ')}) ${verb} not state`
}
