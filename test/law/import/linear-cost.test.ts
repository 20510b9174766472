import { beforeAll, describe, expect, test } from 'vitest'
import { createActAliases, referencesIn, parseReference } from '#law/citations/parser.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { sourceAnchor } from '#law/import/parts/anchor.ts'
import { listsOf } from '#law/import/parts/enumerated-lists.ts'
import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import { markdownItems } from '#law/import/record/markdown.ts'
import { parseRecordJson, repeatsKey } from '#law/import/record/record-json.ts'
import { compileMapping } from '#law/import/mapping/rules.ts'
import { splitText } from '#law/import/parts/split.ts'
import { foldKey } from '#core/identity/fold.ts'
import { codePointsOf, isBlank, unstorable } from '#law/readers/text.ts'
import { mappingOf } from './corpus/corpus-samples.ts'
import { MARKDOWN, PROSE, YAML } from './hostile-inputs.ts'

const GROWTH = 4
const LENGTH = 6_250
/** Linear cost grows by 4, quadratic by 16. */
const RATIO_MAX = 8
/** A shorter time counts as this long, because the clock of a thread may go by 4 ms. */
const NOISE_MS = 8
const ATTEMPTS_MAX = 6

type Stage = (text: string) => unknown
type Inputs = typeof PROSE

/**
 * Returns the inputs whose cost grows faster than their length. Time is that of this thread on a processor, and the
 * shortest runs are compared, so that other load on the machine does not matter.
 */
function superlinear(stage: Stage, inputs: Inputs, length = LENGTH): readonly string[] {
  return inputs.flatMap(([name, text]) => {
    const [short, long] = [text(length), text(length * GROWTH)]
    let longMs = costMs(stage, long)
    let shortMs = Infinity
    for (let attempt = 1; longMs > RATIO_MAX * NOISE_MS; attempt += 1) {
      shortMs = Math.min(shortMs, costMs(stage, short))
      if (attempt > 1 && longMs <= RATIO_MAX * shortMs) return []
      if (attempt > ATTEMPTS_MAX) return [`${name}: ${shortMs} ms, then ${longMs} ms`]
      longMs = Math.min(longMs, costMs(stage, long))
    }
    return []
  })
}

function costMs(stage: Stage, text: string): number {
  const before = process.threadCpuUsage()
  stage(text)
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

let mappings: readonly ReturnType<typeof compileMapping>[]
beforeAll(async () => {
  const shipped = await Promise.all(['cfpb', 'de', 'eu', 'fr', 'obliqa'].map(mappingOf))
  mappings = [MARKDOWN_MAPPING, ...shipped].map(compileMapping)
})

/** Every name that a shipped mapping uses. */
const USED = new Set(
  'id title text citation type anchor celex stand short note path fr_document date'
    .split(' ')
    .flatMap((name) => [name, `metadata.${name}`]),
)

const FRONT = '---\ntitle: T\ncitation_prefix: "1"\n---\n'
const aliases = createActAliases([
  ['Bee Act', 'ukpga:2020/7'],
  ['a', 'rulebook:a'],
])

const ANY = [...MARKDOWN, ...PROSE]

const STAGES: readonly (readonly [string, Stage, Inputs])[] = [
  ['reading a Markdown file', (text) => [...markdownItems(FRONT + text, new Set(['title', 'citation_prefix']))], ANY],
  ['reading JSONL', (text) => parseRecordJson(JSON.stringify({ id: 1, text, metadata: { a: [1, text] } })), ANY],
  ['reading keys of JSON', (text) => repeatsKey(JSON.stringify({ [text]: [text, { [text]: 1 }] })), ANY],
  ['splitting a text', (text) => splitText(text, 'en', INDEX_BOUNDS.passageCharactersMax), ANY],
  ['finding the lists of a text', (text) => listsOf(text).leadInsAt(text.length), ANY],
  ['making an anchor', (text) => sourceAnchor('https://a.example/b', text, text, 2), ANY],
  ['checking a text', (text) => [isBlank(text), codePointsOf(text), unstorable(text), foldKey(text)], ANY],
  ['finding references in a query', (text) => referencesIn(text, aliases).certain, PROSE],
  ['reading the reference of a record', (text) => parseReference(text, aliases), PROSE],
  [
    'the patterns of every shipped mapping',
    (text) => mappings.map((of) => of((name) => (USED.has(name) ? text : undefined))),
    PROSE,
  ],
]

describe('25,000 characters of anything cost in proportion to their length', () => {
  test.each(STAGES)('%s', (_name, stage, inputs) => {
    expect(superlinear(stage, inputs)).toEqual([])
  })

  test('front matter, up to its bound', () => {
    const read: Stage = (text) => [...markdownItems(`---\n${text}\n---\nText.`, new Set('a'))]
    expect(superlinear(read, YAML, IMPORT_BOUNDS.frontMatterCharactersMax / GROWTH)).toEqual([])
  })

  test('a cost that grows with the square of the length is noticed', () => {
    const spaces: Inputs = [['spaces', (length) => `${' '.repeat(length)}x`]]
    expect(superlinear((text) => /\s+$/.test(text), spaces)).toHaveLength(1)
  })
})
