import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseMarkdown, writeMarkdown } from './alterations/markdown-file.ts'
import { parseQuestions, type Question } from '#jobs/evaluation/questions.ts'

/** What an editor hands in: files, how they are read, and questions. */
export interface Sources {
  readonly name: string
  readonly format: 'markdown' | 'jsonl'
  readonly files: ReadonlyMap<string, string>
  /** Undefined: Markdown with the documented front matter. */
  readonly mapping: MappingText | undefined
  /** Undefined: known items. */
  readonly questions: readonly Question[] | undefined
}

/** A mapping file that is not yet parsed. */
export type MappingText = Readonly<Record<string, unknown>>

const DEMO = fileURLToPath(new URL('../../operator/demo/corpus/', import.meta.url))
const MAPPINGS = fileURLToPath(new URL('../../law/import/corpus/mappings/', import.meta.url))
const DATA = fileURLToPath(new URL('../../../shared/data/', import.meta.url))

/** Files of the demo that stand in one small corpus: revisions of one rulebook, and another one. */
const RULEBOOKS: readonly (readonly string[])[] = [
  ['data'],
  ['conduct-mainland.2024', 'conduct-harbour'],
  ['financial-crime-harbour', 'tokenised'],
  ['prudential-mainland.2025', 'prudential-mainland.2031', 'tokenised'],
]
const PROVISIONS_MAX = 6
const UNANSWERABLE_MAX = 5

/** Records of a corpus of JSONL, from the given line on. */
const WINDOWS: readonly (readonly [name: string, from: number, records: number])[] = [
  ['eu', 0, 18],
  ['eu', 2_000, 18],
  ['de', 100, 14],
  ['de', 3_000, 14],
  ['fr', 0, 18],
  ['fr', 1_500, 18],
  ['cfpb', 40, 18],
  ['cfpb', 6_000, 18],
]

/** The corpora that every checkout has. */
export function ownCorpora(): readonly Sources[] {
  const questions = parseQuestions(readFileSync(join(DEMO, 'questions.jsonl'), 'utf8'))
  return [bees(), ...RULEBOOKS.map((parts) => rulebookOf(parts, questions))]
}

/** Parts of the corpora of ../shared/data; none where it is absent. */
export function realCorpora(): readonly Sources[] {
  const present = WINDOWS.filter(([name]) => existsSync(join(DATA, name, 'corpus.jsonl')))
  return present.map((window) => windowOf(...window))
}

function rulebookOf(parts: readonly string[], questions: readonly Question[]): Sources {
  const folder = join(DEMO, 'rulebook')
  const names = readdirSync(folder).filter((name) => parts.some((part) => name.includes(part)))
  const files = new Map(names.map((name) => [name, beginningOf(readFileSync(join(folder, name), 'utf8'))]))
  const held = (id: string): boolean =>
    [...files.values()].some(
      (text) => text.includes(`document: ${documentOf(id)}\n`) && text.includes(`{#${id.slice(id.indexOf('#') + 1)}}`),
    )
  const answerable = questions.filter(({ relevant }) => relevant.length > 0 && relevant.every(held))
  const others = questions.filter(({ relevant }) => relevant.length === 0).slice(0, UNANSWERABLE_MAX)
  return {
    name: `demo ${parts.join('+')}`,
    format: 'markdown',
    files,
    mapping: undefined,
    questions: [...answerable, ...others],
  }
}

/** The first provisions of a file: a case takes time by their number. */
function beginningOf(text: string): string {
  const file = parseMarkdown(text)
  return writeMarkdown({ ...file, provisions: file.provisions.slice(0, PROVISIONS_MAX) })
}

function documentOf(sourceId: string): string {
  return sourceId.slice(0, sourceId.indexOf('#'))
}

function windowOf(name: string, from: number, records: number): Sources {
  const lines = readFileSync(join(DATA, name, 'corpus.jsonl'), 'utf8')
    .split('\n')
    .slice(from, from + records)
  const mapping = JSON.parse(readFileSync(join(MAPPINGS, `${name}.json`), 'utf8')) as MappingText
  return {
    name: `${name} ${from}`,
    format: 'jsonl',
    files: new Map([['corpus.jsonl', `${lines.join('\n')}\n`]]),
    mapping,
    questions: undefined,
  }
}

/** Records of a publisher who states every field, ends and aliases included. */
function bees(): Sources {
  const record = (act: string, section: number, revision: number): string =>
    JSON.stringify({
      id: `${act}-${section}@${revision}`,
      title: `Section ${section}`,
      text: `A keeper of ${act} in district ${section} must register every hive before the first of ${
        revision === 0 ? 'May' : 'June'
      } and shows the register to the inspector on request.`,
      metadata: {
        act,
        section: String(section),
        jurisdiction: 'GB',
        from: revision === 0 ? '2020-02-03' : '2023-06-01',
        to: revision === 0 ? '2023-06-01' : '',
        aliases: `${act.toUpperCase()},${act} code`,
      },
    })
  const records = ['bees', 'wasps'].flatMap((act) =>
    Array.from({ length: 6 }, (_, at) => [record(act, at + 1, 0), record(act, at + 1, 1)]).flat(),
  )
  return {
    name: 'bees',
    format: 'jsonl',
    files: new Map([['corpus.jsonl', `${records.join('\n')}\n`]]),
    mapping: BEES_MAPPING,
    questions: undefined,
  }
}

const BEES_MAPPING: MappingText = {
  format: 'jsonl',
  revises: 'provision',
  fields: {
    document_key: '{metadata.act}',
    title: 'The {metadata.act} Act',
    authority: 'Parliament',
    canonical_url: 'https://law.example/{metadata.act}',
    published_at: '{metadata.from}',
    effective_at: '{metadata.from}',
    effective_to: '{metadata.to}',
    citation_label: '{metadata.act} s. {metadata.section}',
    act: 'statute:{metadata.act}',
    aliases: '{metadata.aliases}',
    reference: '{metadata.act} s. {metadata.section}',
    language: 'en',
    jurisdiction: '{metadata.jurisdiction}',
    verification_status: 'source-declared',
  },
}
