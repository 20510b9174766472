import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { modelFlags, writeDataSet } from '#test/jobs/evaluation/data-set.ts'
import { REWRITING_PROMPT_SHA256 } from '#core/rewriting/prompt.ts'
import { COUNSEL, REWRITER_TOKENS, rewriterCalls, startReaderEndpoint } from '#test/support/reader-endpoint.ts'
import { startEmbeddingEndpoint, vectorsByWords } from '#test/support/embedding-endpoint.ts'
import * as command from './command.ts'
import { DUTIES, left, start } from './command.ts'

const TOPICS = command.TOPICS.slice(0, 8)

const MAPPING = {
  format: 'jsonl',
  fields: {
    document_key: '{metadata.chapter}',
    title: 'Harbour Act, chapter {metadata.chapter}',
    heading: '{title}',
    authority: 'Harbour Authority',
    canonical_url: 'https://harbour.invalid/{id}',
    published_at: '{metadata.dated}',
    effective_at: '{metadata.dated}',
    citation_label: 'Harbour Act, section {metadata.section}',
    reference: 'Harbour Act section {metadata.section}',
    language: 'en',
    jurisdiction: 'ZZ',
    verification_status: 'source-declared',
  },
}

function rules(word: string): readonly object[] {
  return TOPICS.flatMap((topic, chapter) =>
    DUTIES.map((duty, at) => ({
      id: `${word}-${topic}-${duty}`,
      title: `${topic} ${duty}`,
      text: `The ${word} master sets out ${duty} for every ${topic} within the limits of the ${word} before sunset.`,
      metadata: { chapter: String(chapter + 1), section: `${chapter + 1}.${at + 1}`, dated: `200${chapter}-01-01` },
    })),
  )
}

function questions(word: string): readonly object[] {
  return [
    ...TOPICS.map((topic) => ({
      id: `p-${topic}`,
      question: `Who sets out insurance for every ${topic} within the limits of the ${word} before sunset?`,
      kind: 'plain',
      relevant: [`${word}-${topic}-insurance`],
      label: 'answerable',
      note: 'not read',
    })),
    {
      id: 'm-1',
      question: 'What does Article 99 GDPR say?',
      kind: 'named-missing',
      relevant: [],
      label: 'unanswerable',
    },
    { id: 'o-1', question: 'Which orchestra plays tonight?', kind: 'off-topic', relevant: [], label: 'unanswerable' },
  ]
}

/** Two corpora with a mapping each, and their questions. */
function folderOf(change: Readonly<Record<string, string | readonly object[]>> = {}): string {
  return writeDataSet({
    'harbour/corpus.jsonl': rules('harbour'),
    'harbour/mapping.json': JSON.stringify(MAPPING),
    'harbour.jsonl': questions('harbour'),
    'river/corpus.jsonl': rules('river'),
    'river/mapping.json': JSON.stringify(MAPPING),
    'river.jsonl': questions('river'),
    ...change,
  })
}

const pair = (folder: string, name: string): readonly string[] => [
  '--corpus',
  join(folder, name),
  '--questions',
  join(folder, `${name}.jsonl`),
]

const share = z.number().min(0).max(1)
const counts = z.strictObject({
  n: z.int(),
  answered: z.int(),
  listed_first: z.int(),
  listed_at5: z.int(),
  answered_first: z.int(),
  answered_at5: z.int(),
  intervals: z.record(z.enum(['answered', 'listed_at5', 'answered_at5']), z.tuple([share, share]).nullable()),
})
const byKind = z.record(z.string(), z.int())
const countedSchema = z.object({
  auroc: z.number().nullable(),
  kinds: z.record(z.string(), counts),
  systems: z.strictObject({ lexical: byKind, dense: byKind, hybrid: byKind }),
})
const figuresSchema = countedSchema.extend({
  halves: z.strictObject({ tuning: countedSchema, reporting: countedSchema }),
})
const detailSchema = z.object({
  corpus: z.string(),
  id: z.string(),
  kind: z.string(),
  label: z.string(),
  half: z.enum(['tuning', 'reporting']),
  decision: z.enum(['answer', 'abstain']),
  observed_value: z.number().min(0).max(1),
  unsupported: z.array(z.object({ normalized: z.string(), reason: z.string() })),
  named: z.int(),
  rank: z.object({ lexical: z.int().nullable(), dense: z.int().nullable(), hybrid: z.int().nullable() }),
  predictors: z.record(z.string(), z.number()),
  first: z.array(z.object({ source_id: z.string(), score: z.number(), named: z.boolean() })).max(5),
})

test('questions of several corpora are counted together by kind, list and decision apart', async () => {
  const folder = folderOf()
  const endpoint = await startEmbeddingEndpoint(vectorsByWords())
  const [json, details] = [join(folder, 'out', 'figures.json'), join(folder, 'out', 'details.jsonl')]
  const sets = [...pair(folder, 'harbour'), ...pair(folder, 'river')]
  const outputs = ['--json', json, '--details', details, '--html', join(folder, 'out', 'page.html')]
  const { code, stdout, stderr } = await start(folder, [...sets, ...modelFlags(endpoint.baseUrl), ...outputs]).ended
  await endpoint.stop()
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining('note:') })
  const { auroc, kinds, systems, halves } = figuresSchema.parse(JSON.parse(readFileSync(json, 'utf8')))
  expect(auroc).toBeGreaterThan(0.9)
  expect(Object.entries(kinds).map(([kind, { n }]) => [kind, n])).toEqual([
    ['plain', 16],
    ['named-missing', 2],
    ['off-topic', 2],
  ])
  expect(kinds['plain']).toMatchObject({ listed_first: 16, listed_at5: 16 })
  expect([kinds['named-missing']?.answered, kinds['off-topic']?.answered]).toEqual([0, 0])
  expect(systems.lexical['plain']).toBe(16)
  const sent = endpoint.requests.flatMap(({ input }) => input)
  expect(sent).toContain('ask: Which orchestra plays tonight?')
  expect(sent.filter((text) => text.includes('master sets out fees for every'))).not.toEqual([])
  const { tuning, reporting } = halves
  expect([tuning, reporting].map((half) => Object.values(half.kinds).reduce((sum, { n }) => sum + n, 0))).toEqual([
    10, 10,
  ])
  expect(stdout).toMatch(/harbour: 40 passages, 10 questions[^]*river: 40 passages, 10 questions[^]*tuning half/)
  expect(stdout).toMatch(/reporting half[^]*plain +\d+ +\d+ \[\d+, \d+\]/)
  const page = readFileSync(join(folder, 'out', 'page.html'), 'utf8')
  expect(page).toMatch(/^<!doctype html>[^]*The tuning half[^]*<th>plain<\/th>/)
  const lines = readFileSync(details, 'utf8')
    .trim()
    .split('\n')
    .map((line) => detailSchema.parse(JSON.parse(line)))
  expect(lines.map(({ corpus, id }) => [corpus, id]).slice(9, 12)).toEqual([
    ['harbour', 'o-1'],
    ['river', 'p-anchorage'],
    ['river', 'p-ballast'],
  ])
  const plain = lines.filter(({ kind }) => kind === 'plain')
  expect(plain.filter(({ decision }) => decision === 'answer')).toHaveLength(kinds['plain']?.answered ?? Number.NaN)
  expect(plain.some(({ rank }) => rank.dense !== null)).toBe(true)
  expect(plain[0]).toMatchObject({
    rank: { hybrid: 1 },
    first: [{ source_id: 'harbour-anchorage-insurance' }, {}, {}, {}, {}],
  })
  expect(Object.keys(plain[0]?.predictors ?? {})).toEqual([...PREDICTORS])
  const named = lines.find(({ kind }) => kind === 'named-missing')
  expect(named).toMatchObject({ decision: 'abstain', unsupported: [{ reason: 'not_in_corpus' }] })
  expect(left(folder)).toEqual([])
})

test('a rewriter writes the queries of field questions, a repetition asks nothing, and its failure ends the run', async () => {
  const metadata = { chapter: '9', section: '9.1', dated: '2000-01-01' }
  const text = 'A retail client may cancel a distance contract within the cooling-off period of 14 days.'
  const asked = { question: 'Can I send back what they sold me by phone?', kind: 'everyday', label: 'answerable' }
  const folder = folderOf({
    'harbour/corpus.jsonl': [...rules('harbour'), { id: 'cancel', title: 'Sales', text, metadata }],
    'harbour.jsonl': [...questions('harbour'), { id: 'e-1', ...asked, relevant: ['cancel'] }],
  })
  const server = await startReaderEndpoint()
  const [json, page] = [join(folder, 'figures.json'), join(folder, 'page.html')]
  const named = ['--rewriter', server.baseUrl, '--rewriter-model', COUNSEL, '--json', json, '--html', page]
  const run = (cache: string): ReturnType<typeof start>['ended'] =>
    start(folder, [...pair(folder, 'harbour'), ...named, '--rewriter-cache', join(folder, cache)]).ended
  const figures = (calls: number): object => ({
    kinds: { everyday: { n: 1, answered: 1, listed_first: 1 } },
    about: {
      rewriter: { model: COUNSEL, prompt_sha256: REWRITING_PROMPT_SHA256, calls, tokens: calls * REWRITER_TOKENS },
    },
  })
  expect(await run('kept.jsonl')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('failed') })
  expect(JSON.parse(readFileSync(json, 'utf8'))).toMatchObject(figures(11))
  expect(readFileSync(page, 'utf8')).toContain(
    `${REWRITING_PROMPT_SHA256}) took 11 calls, ${11 * REWRITER_TOKENS} tokens`,
  )
  const [call] = await rewriterCalls(server.baseUrl, 'phone')
  expect(call?.data.knowledge_base).toMatchObject({ title: 'harbour', languages: ['en'], acts: { length: 9 } })
  await server.stop()
  expect(await run('kept.jsonl')).toMatchObject({ code: 0 })
  expect(JSON.parse(readFileSync(json, 'utf8'))).toMatchObject(figures(0))
  const sentence = 'A model failed: the rewriter could not be reached. Repeat the run, which keeps what it gave.'
  expect(await run('other.jsonl')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) })
})

test('an answer counts only where the decision is to answer, and a list whether or not it is', async () => {
  // The only question with a right passage names a provision that the corpus lacks, so that the service abstains.
  const folder = folderOf({
    'harbour.jsonl': [
      {
        id: 'q',
        question: 'Who sets out insurance for every ferry within the limits of the harbour under Article 99 GDPR?',
        kind: 'mixed',
        relevant: ['harbour-ferry-insurance', 'nowhere'],
        label: 'answerable',
      },
    ],
  })
  const { code, stderr } = await start(folder, [...pair(folder, 'harbour'), '--json', join(folder, 'figures.json')])
    .ended
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('relevant records that the corpus does not hold, counted as not found: 1 of 2'),
  })
  expect(JSON.parse(readFileSync(join(folder, 'figures.json'), 'utf8'))).toMatchObject({
    auroc: null,
    kinds: { mixed: { n: 1, answered: 0, listed_first: 1, listed_at5: 1, answered_first: 0, answered_at5: 0 } },
  })
})

test.each([
  ['a folder that is missing', {}, ['--corpus', 'nowhere', '--questions', 'harbour.jsonl'], /There is no corpus at /],
  [
    'questions that are missing',
    {},
    ['--corpus', 'harbour', '--questions', 'none.jsonl'],
    /none\.jsonl cannot be read/,
  ],
  [
    'a folder without a mapping',
    { 'plain/corpus.jsonl': rules('plain') },
    ['--corpus', 'plain', '--questions', 'harbour.jsonl'],
    /holds corpus\.jsonl but no mapping\.json/,
  ],
  [
    'a mapping that is not JSON',
    { 'bad.json': '{' },
    ['--corpus', 'harbour', '--questions', 'harbour.jsonl', '--mapping', 'bad.json'],
    /bad\.json is not JSON/,
  ],
  [
    'a label that is none',
    { 'harbour.jsonl': [{ id: 'q', question: 'Secret?', kind: 'plain', relevant: [], label: 'maybe' }] },
    ['--corpus', 'harbour', '--questions', 'harbour.jsonl'],
    /^harbour\.jsonl, line 1, is not a question \(wrong: label\): correct it and evaluate again\.$/m,
  ],
  [
    'an id that is used twice',
    { 'more.jsonl': questions('harbour') },
    ['--corpus', 'harbour', '--questions', 'harbour.jsonl', '--questions', 'more.jsonl'],
    /more\.jsonl, line 1, repeats the id of an earlier line/,
  ],
  [
    'a file without questions',
    { 'harbour.jsonl': '\n' },
    ['--corpus', 'harbour', '--questions', 'harbour.jsonl'],
    /harbour\.jsonl holds no question/,
  ],
])('%s is refused with one sentence before anything is built', async (_, change, args, sentence) => {
  const folder = folderOf(change)
  const paths = args.map((arg) => (arg.startsWith('--') ? arg : join(folder, arg)))
  const { code, stdout, stderr } = await start(folder, [...paths]).ended
  expect({ code, stdout, stderr }).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(sentence) })
  expect(stderr).not.toContain('Secret')
  expect(left(folder)).toEqual([])
})

test('a mapping file takes the place of the one in the folder', async () => {
  const folder = folderOf()
  writeFileSync(join(folder, 'harbour', 'mapping.json'), '{}')
  writeFileSync(join(folder, 'own.json'), JSON.stringify(MAPPING))
  const { code, stderr } = await start(folder, [...pair(folder, 'harbour'), '--mapping', join(folder, 'own.json')])
    .ended
  expect({ code, stderr }).toMatchObject({ code: 0 })
})

test('with --embedding none, words alone are counted, and what they list is what is served', async () => {
  const folder = folderOf()
  const json = join(folder, 'figures.json')
  const { code, stdout } = await start(folder, [...pair(folder, 'harbour'), '--embedding', 'none', '--json', json])
    .ended
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.not.stringContaining('vectors in 5') })
  expect(JSON.parse(readFileSync(json, 'utf8'))).toMatchObject({
    kinds: { plain: { n: 8, listed_at5: 8 } },
    systems: { lexical: { plain: 8 } },
  })
})
