import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'
import type { ActiveLaw } from './cases.ts'
import { drawFrom, type Draw } from './draw.ts'
import { isRefused, type Laboratory } from './laboratory.ts'
import { surfaceOf } from './surface.ts'
import { unmatched } from './oracle.ts'
import { withFile } from './alterations/alteration.ts'
import {
  fieldOf,
  headingAndText,
  parseMarkdown,
  withFields,
  withProvision,
  writeMarkdown,
} from './alterations/markdown-file.ts'
import type { Sources } from './sources.ts'

type Kind = NamedChange['kind']

/** Work that should pass, and the kinds of change that may be listed for it. */
export interface InnocentEditor {
  readonly name: string
  readonly lists: readonly Kind[]
  /** @returns undefined where the sources have nothing to edit in this way. */
  edit(sources: Sources, draw: Draw): Sources | undefined
}

export interface InnocentResult {
  readonly editor: InnocentEditor
  readonly corpus: string
  readonly refused: string | undefined
  /** Kinds that are listed although the work does nothing of that kind. */
  readonly unexpected: readonly string[]
}

function everyFile(sources: Sources, change: (text: string) => string): Sources {
  return { ...sources, files: new Map([...sources.files].map(([name, text]) => [name, change(text)])) }
}

/** Work on the sources of a format. */
function ofFormat(
  format: Sources['format'],
  name: string,
  lists: readonly Kind[],
  edit: InnocentEditor['edit'],
): InnocentEditor {
  return { name, lists, edit: (sources, draw) => (sources.format === format ? edit(sources, draw) : undefined) }
}

/** Work on the text of each file of Markdown. */
function onText(name: string, lists: readonly Kind[], change: (text: string, draw: Draw) => string): InnocentEditor {
  return ofFormat('markdown', name, lists, (sources, draw) => everyFile(sources, (text) => change(text, draw)))
}

/** Work on the lines of each file of JSONL. */
function onLines(
  name: string,
  lists: readonly Kind[],
  change: (lines: readonly string[], draw: Draw) => readonly string[],
): InnocentEditor {
  return ofFormat('jsonl', name, lists, (sources, draw) =>
    everyFile(sources, (text) => `${change(text.trimEnd().split('\n'), draw).join('\n')}\n`),
  )
}

type JsonRecord = Readonly<Record<string, unknown>>

function onRecords(name: string, lists: readonly Kind[], change: (record: JsonRecord) => unknown): InnocentEditor {
  return onLines(name, lists, (lines) => lines.map((line) => JSON.stringify(change(JSON.parse(line) as JsonRecord))))
}

/** What no caller sees is listed as another snapshot at most. */
const UNSEEN: readonly Kind[] = ['snapshots_changed']
/** Fitted values and the ranking follow the corpus. */
const FITTED: readonly Kind[] = [...UNSEEN, 'profile_fitted']
const CHANGED: readonly Kind[] = ['passages_changed', 'provisions_changed']
/** Texts are served as they are written, with their spaces. */
const WRITTEN: readonly Kind[] = [...UNSEEN, ...CHANGED]
const AMENDED: readonly Kind[] = [
  ...FITTED,
  ...CHANGED,
  'passages_added',
  'answers_wrong',
  'answers_lost',
  'answers_moved',
]
const ADDED: readonly Kind[] = [
  ...FITTED,
  ...(['passages_added', 'provisions_added', 'documents_added', 'aliases_added'] as const),
  ...(['answers_wrong', 'answers_lost'] as const),
]

const INNOCENT: readonly InnocentEditor[] = [
  onText('spaces at the ends of lines', WRITTEN, (text) => text.replaceAll(/(?<=[^\s-])\n/g, ' \n')),
  onText('more blank lines', WRITTEN, (text) => text.replaceAll(/\n\n/g, '\n\n\n')),
  onText('line ends of Windows', UNSEEN, (text) => text.replaceAll('\n', '\r\n')),
  onText('front matter in another order', UNSEEN, (text, draw) =>
    writeMarkdown({ ...parseMarkdown(text), front: draw.shuffled(parseMarkdown(text).front) }),
  ),
  onText('a comment in front matter', UNSEEN, (text) => text.replace(/\ntitle:/, '\n# checked\ntitle:')),
  onText('a comment between provisions', UNSEEN, (text) => text.replace(/\n### /, '\n<!-- checked -->\n\n### ')),
  ofFormat('markdown', 'other names of files', UNSEEN, (sources) => ({
    ...sources,
    files: new Map([...sources.files].map(([name, text], at) => [`${at}-${name}`, text])),
  })),
  onLines('records in another order', UNSEEN, (lines, draw) => draw.shuffled(lines)),
  onRecords('fields of records in another order', UNSEEN, (record) =>
    Object.fromEntries(Object.entries(record).toReversed()),
  ),
  onRecords('spaces after the text of records', UNSEEN, (record) => ({
    ...record,
    text: `${String(record['text'])}\n`,
  })),
  ofFormat('markdown', 'a corrected word', [...FITTED, ...CHANGED], correctedWord),
  onLines('a corrected record', [...FITTED, ...CHANGED], correctedLine),
  ofFormat('markdown', 'an amendment with its own day', AMENDED, amended),
  ofFormat('markdown', 'another rulebook', ADDED, anotherRulebook),
  {
    name: 'more questions',
    lists: [...FITTED, 'questions_added'],
    edit: (sources, draw) =>
      sources.questions && {
        ...sources,
        questions: [...sources.questions, { id: 'one-more', text: `What is a ${draw.marker()}?`, relevant: [] }],
      },
  },
]

/** Runs each editor on each corpus; `draws` times, each time with other choices. */
export async function runInnocent(
  laboratory: Laboratory,
  actives: readonly ActiveLaw[],
  { seed, draws }: { readonly seed: number; readonly draws: number },
): Promise<readonly InnocentResult[]> {
  const results: InnocentResult[] = []
  for (let turn = 0; turn < draws; turn++)
    for (const editor of INNOCENT)
      for (const active of actives) {
        const sources = editor.edit(active.law.sources, drawFrom(seed + turn))
        if (sources !== undefined)
          results.push({
            editor,
            corpus: active.law.sources.name,
            ...(await judged(laboratory, active, editor, sources)),
          })
      }
  return results
}

async function judged(
  laboratory: Laboratory,
  { law, surface, accepted }: ActiveLaw,
  { lists }: InnocentEditor,
  sources: Sources,
): Promise<Pick<InnocentResult, 'refused' | 'unexpected'>> {
  const candidate = await laboratory.build(sources, accepted)
  if (isRefused(candidate)) return { refused: candidate.message, unexpected: [] }
  using ending = new DisposableStack()
  ending.defer(() => laboratory.discard(candidate))
  const comparison = await laboratory.compare(law, candidate)
  if (isRefused(comparison)) return { refused: comparison.message, unexpected: [] }
  const listed = new Set(comparison.named.map(({ kind }) => kind))
  const after = surfaceOf(candidate)
  const seen = [...unmatched(surface, after), ...unmatched(after, surface)].length
  const silent =
    lists.every((kind) => UNSEEN.includes(kind)) && seen > 0 ? [`${seen} passages that callers see otherwise`] : []
  return { refused: undefined, unexpected: [...[...listed].filter((kind) => !lists.includes(kind)), ...silent] }
}

function correctedWord(sources: Sources, draw: Draw): Sources | undefined {
  const [name, text] = draw.pick([...sources.files])
  const file = parseMarkdown(text)
  const at = draw.below(file.provisions.length)
  const corrected = withProvision(file, at, (provision) => provision.replace(/\bthe\b/, 'each'))
  return withFile(sources, name, writeMarkdown(corrected))
}

function correctedLine(lines: readonly string[], draw: Draw): readonly string[] {
  const at = draw.below(lines.length)
  const record = JSON.parse(lines[at] ?? '') as { readonly text: string }
  const text = `${record.text.trimEnd().replace(/\.$/, '')} (corrected).`
  return lines.with(at, JSON.stringify({ ...record, text }))
}

/** A new file restates every provision, one of them with another text, and the former one ends on its day. */
function amended(sources: Sources, draw: Draw): Sources | undefined {
  const open = [...sources.files].filter(([, text]) => {
    const file = parseMarkdown(text)
    return fieldOf(file, 'effective_to') === undefined && (fieldOf(file, 'effective_at') ?? '') < '2025-06-01'
  })
  if (open.length === 0) return undefined
  const [name, text] = draw.pick(open)
  const file = parseMarkdown(text)
  const at = draw.below(file.provisions.length)
  const day = '2025-11-01'
  const next = withProvision(
    file,
    at,
    (provision) => `${headingAndText(provision)[0]}\n\nA firm must do so within ten days ${draw.marker()}.\n\n`,
  )
  const ended = withFile(sources, name, writeMarkdown(withFields(file, { effective_to: day })))
  return withFile(
    ended,
    name.replace('.md', '-amended.md'),
    writeMarkdown(withFields(next, { effective_at: day, published_at: day })),
  )
}

function anotherRulebook(sources: Sources, draw: Draw): Sources | undefined {
  const [name, text] = draw.pick([...sources.files])
  const file = parseMarkdown(text)
  const word = draw.marker()
  const provisions = Array.from(
    { length: 2 },
    (_, at) =>
      `### NEW ${at + 1}.1 Duties of a ${word} {#new-${at + 1}}\n\nA ${word} keeps register ${at + 1} of every ${draw.marker()}.\n\n`,
  )
  const fields = {
    document: 'new',
    title: 'New Rulebook',
    canonical_url: 'https://rules.example/new',
    citation_prefix: 'NEW',
    effective_to: undefined,
    act: undefined,
    aliases: undefined,
  }
  return withFile(
    sources,
    name.replace(/^.*$/, 'new.md'),
    writeMarkdown({ ...withFields(file, fields), head: '\n# New Rulebook\n\n', provisions }),
  )
}
