import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { embeddingInWords, overlongWarning, type EmbeddingCounts } from '#core/domain/embedding-counts.ts'
import { openEmbedder } from '#core/embedding/providers.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { testPassage } from '#test/support/passages.ts'
import { WORD_DIMENSIONS } from '#test/support/word-vectors.ts'
import { startEmbeddingEndpoint, vectorsByWords, type EmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import { STAGE_SPACE, runEmbedStage, type StageInput } from './embed-stage.ts'
import { until } from '#test/support/until.ts'
import { folderOfTest } from '#test/support/folder.ts'

let endpoint: EmbeddingEndpoint
let folder: string
let cache: { readonly path: string; readonly bytesMax: number }
let builds: number

beforeEach(async () => {
  endpoint = await startEmbeddingEndpoint({ ...vectorsByWords(), tokensOf: () => 10 })
  folder = folderOfTest()
  cache = { path: join(folder, 'cache', 'vectors.sqlite'), bytesMax: 2 ** 30 }
  builds = 0
})
afterEach(() => endpoint.stop())

const corpus = (count: number): readonly PassageRecord[] => Array.from({ length: count }, (_, n) => testPassage(n))

/** Runs the stage as another build does. */
async function build(passages: readonly PassageRecord[], options: Partial<StageInput> = {}) {
  const before = endpoint.passages().length
  const workFolder = join(folder, `build-${builds++}`)
  const { counts, folder: files } = await runEmbedStage({
    workFolder,
    passages,
    baseUrl: endpoint.baseUrl,
    cache,
    ...options,
  })
  const names = readdirSync(files).filter((name) => name.endsWith('.f32'))
  const bytes = Buffer.concat(names.sort().map((name) => readFileSync(join(files, name))))
  return { counts, bytes, sent: endpoint.passages().slice(before) }
}

const isProbe = (texts: readonly string[]): boolean => texts.length === 1 && texts[0] === 'same model?'

function filesIn(workFolder: string): string {
  const [name = ''] = readdirSync(workFolder).filter((each) => each.startsWith('vectors-'))
  return join(workFolder, name)
}

describe('a build', () => {
  test('sends every text once, several batches at once, and writes the vectors in row order', async () => {
    const released = Promise.withResolvers<undefined>()
    endpoint.behaviour.gate = ({ input: texts }) => {
      // The first batches are answered together, so later ones may overtake none of them in the files.
      if (endpoint.mostAtOnce === 3) released.resolve(undefined)
      return texts.length === 1 ? Promise.resolve(undefined) : released.promise
    }
    const { counts, bytes, sent } = await build(corpus(2_100), { concurrency: 3 })
    expect(endpoint.mostAtOnce).toBe(3)
    expect(sent).toHaveLength(2_100)
    expect(counts).toMatchObject({ passages: 2_100, sent: 2_100, overlong: 0, seconds_left: null })
    const alone = await build(corpus(2_100).toReversed(), { concurrency: 1 })
    const rowBytes = WORD_DIMENSIONS * 4
    const row = (from: Buffer, at: number): Buffer => from.subarray(at * rowBytes, (at + 1) * rowBytes)
    for (let at = 0; at < 2_100; at += 7) expect(row(bytes, at).equals(row(alone.bytes, 2_099 - at))).toBe(true)
  })

  test.each([
    ['with a cache', true],
    ['without a cache', false],
  ])('sends a text that several passages share once, %s', async (_, cached) => {
    const passages = corpus(2_100).map((passage, n) =>
      n % 3 === 0 ? { ...passage, heading: 'Annex', text: 'This annex is left blank.' } : passage,
    )
    const { counts, sent } = await build(passages, cached ? {} : { cache: undefined })
    expect(sent.filter((text) => text === 'Annex\nThis annex is left blank.')).toHaveLength(1)
    expect(counts.sent).toBe(1_401)
  })

  test('of the same texts sends nothing of them again, and writes the same vectors', async () => {
    const first = await build(corpus(300))
    const second = await build(corpus(300))
    expect(second.sent).toEqual([])
    expect(second.bytes.equals(first.bytes)).toBe(true)
    expect(second.counts).toMatchObject({ passages: 300, sent: 0 })
    expect(embeddingInWords(second.counts)).toBe('0 texts sent, 300 vectors from the cache')
  })

  test('with one changed passage sends that one', async () => {
    await build(corpus(300))
    const changed = corpus(300).map((passage, n) =>
      n === 200 ? { ...passage, text: 'The rule was changed.' } : passage,
    )
    const { sent } = await build(changed)
    expect(sent).toEqual(['Rulebook 20\nThe rule was changed.'])
  })

  test.each([
    ['model', { ...STAGE_SPACE, model: 'another' }],
    ['passage prefix', { ...STAGE_SPACE, passage_prefix: 'passage: ' }],
    ['instruction for queries', { ...STAGE_SPACE, query_prefix: 'query: ' }],
  ])('with another %s sends every passage', async (_, space) => {
    await build(corpus(50))
    expect((await build(corpus(50), { space })).sent).toHaveLength(50)
    expect((await build(corpus(50))).sent).toEqual([])
  })

  test('sends every passage again, and says so, where the endpoint serves another model of the name', async () => {
    await build(corpus(50))
    Object.assign(endpoint.behaviour, vectorsByWords('other weights '))
    const warnings: string[] = []
    const { sent } = await build(corpus(50), { warn: (sentence) => warnings.push(sentence) })
    expect(sent).toHaveLength(50)
    expect(warnings).toEqual([expect.stringMatching(/gives other vectors for of-the-test than before/)])
  })

  test('on an empty cache that another build fills meanwhile leaves it the vectors of both', async () => {
    const [late, arrived] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    let probes = 0
    endpoint.behaviour.gate = ({ input: texts }) => {
      if (!isProbe(texts) || ++probes > 2) return Promise.resolve(undefined)
      if (probes === 1) return arrived.promise
      arrived.resolve(undefined)
      return late.promise
    }
    const first = build(corpus(30))
    await until('the first build has asked', () => probes === 1)
    const second = build(corpus(60).slice(30))
    await first
    late.resolve(undefined)
    await second
    expect((await build(corpus(60))).sent).toEqual([])
  })

  test('that the endpoint serves another model at its end fails, and goes on with vectors of one model', async () => {
    endpoint.behaviour.gate = ({ input: texts }) => {
      if (!isProbe(texts) && texts.some((text) => text.includes('\n')))
        Object.assign(endpoint.behaviour, vectorsByWords('other weights '))
      return Promise.resolve(undefined)
    }
    const workFolder = join(folder, 'of-two-models')
    const input = { workFolder, passages: corpus(60), baseUrl: endpoint.baseUrl, cache }
    const began = 'the endpoint began to give other vectors for of-the-test during the build'
    await expect(runEmbedStage(input)).rejects.toMatchObject({ message: began, permanent: false })
    await runEmbedStage(input)
    const other = await build(corpus(60), { cache: undefined })
    expect(readFileSync(join(filesIn(workFolder), '0000000000.f32')).equals(other.bytes)).toBe(true)
    expect((await build(corpus(60))).bytes.equals(other.bytes)).toBe(true)
  })

  test.each([
    ['with a cache', true],
    ['with a cache that another build has brought up to date', 'shared'],
    ['without a cache', false],
  ])('that was stopped and meets another model sends its first vectors again, %s', async (_, cached) => {
    const [stop, workFolder] = [new AbortController(), join(folder, 'stopped')]
    const passages = corpus(BUILD_BOUNDS.vectorFileRows + 40)
    const of = { workFolder, passages, baseUrl: endpoint.baseUrl, cache: cached === false ? undefined : cache }
    const onProgress = ({ passages: done }: EmbeddingCounts): void => {
      if (done > BUILD_BOUNDS.vectorFileRows) stop.abort(new Error('stopped by the test'))
    }
    await expect(runEmbedStage({ ...of, concurrency: 1, signal: stop.signal, onProgress })).rejects.toThrow(
      'stopped by the test',
    )
    Object.assign(endpoint.behaviour, vectorsByWords('other weights '))
    if (cached === 'shared') await build(corpus(5))
    const { counts } = await runEmbedStage(of)
    expect(counts.sent).toBeGreaterThan(2 * BUILD_BOUNDS.vectorFileRows)
    const other = await build(passages, { cache: undefined })
    const names = readdirSync(filesIn(workFolder)).filter((name) => name.endsWith('.f32'))
    const bytes = Buffer.concat(names.sort().map((name) => readFileSync(join(filesIn(workFolder), name))))
    expect(bytes.equals(other.bytes)).toBe(true)
  })

  test('without a cache keeps no vector for the next one, and leaves no file of kept vectors', async () => {
    const first = await build(corpus(50), { cache: undefined })
    expect(first.sent).toHaveLength(50)
    expect((await build(corpus(50), { cache: undefined })).sent).toHaveLength(50)
    expect(
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('sqlite')),
    ).toEqual([])
  })

  test('whose cache file is damaged sends its passages and writes the right vectors', async () => {
    const first = await build(corpus(300))
    const bytes = readFileSync(cache.path)
    for (let at = 8_192; at < bytes.length; at += 4_096) bytes.fill(0xff, at, at + 512)
    writeFileSync(cache.path, bytes)
    const second = await build(corpus(300))
    expect(second.sent.length).toBeGreaterThan(0)
    expect(second.bytes.equals(first.bytes)).toBe(true)
  })

  test('whose vectors exceed the bound of the cache keeps the file within it', async () => {
    const bytesMax = 1024 ** 2
    await build(corpus(800), { cache: { ...cache, bytesMax } })
    expect(statSync(cache.path).size).toBeLessThan(bytesMax * 1.5)
    expect((await build(corpus(800), { cache: { ...cache, bytesMax } })).sent.length).toBeGreaterThan(400)
  })

  test('counts passages, texts, tokens and the time that is left', async () => {
    const seen: EmbeddingCounts[] = []
    await build(corpus(40))
    const { counts } = await build(corpus(200), { concurrency: 1, onProgress: (each) => seen.push(each) })
    expect(seen.map(({ passages }) => passages)).toEqual([40, 60, 80, 100, 120, 140, 160, 180, 200])
    expect(seen.map(({ tokens }) => tokens)).toEqual([0, 200, 400, 600, 800, 1_000, 1_200, 1_400, 1_600])
    expect(seen.at(4)?.seconds_left).toBeGreaterThan(0)
    expect(counts).toEqual({ passages: 200, sent: 160, tokens: 1_600, overlong: 0, seconds_left: null })
    expect(embeddingInWords(counts)).toBe('160 texts sent, 1,600 tokens, 40 vectors from the cache')
  })
})

test('passages longer than the model reads are counted for a warning, also where their vectors are kept', async () => {
  const long = 'The firm keeps a record of every rule and gives it to the authority on request. '.repeat(10)
  const passages = corpus(60).map((passage, n) => (n % 12 === 0 ? { ...passage, text: `${n} ${long}` } : passage))
  const settings = { OPENAI_BASE_URL: endpoint.baseUrl, OPENAI_API_KEY: undefined }
  const options = { model: 'of-the-test', query_prefix: '', passage_prefix: '', tokens_max: 50 }
  const embedder = await openEmbedder(settings, options, new AbortController().signal)
  for (const sent of [60, 0]) expect((await build(passages, { embedder })).counts).toMatchObject({ sent, overlong: 5 })
  const short = await build(corpus(60), { embedder })
  expect(overlongWarning(short.counts)).toBeUndefined()
  expect(overlongWarning({ ...short.counts, overlong: 5 })).toMatch(
    /^5 of 60 passages are probably longer than the embed/,
  )
})

describe('a build that is killed', () => {
  test.each([
    ['with a cache', true],
    ['without a cache', false],
  ])('goes on without sending what was answered, %s', async (_, cached) => {
    const undisturbed = await build(corpus(300), { cache: undefined })
    endpoint.requests.splice(0)
    const held = Promise.withResolvers<void>()
    let batches = 0
    endpoint.behaviour.gate = ({ input: texts }) => {
      if (texts.length === 1 || ++batches <= 6) return Promise.resolve(undefined)
      held.resolve()
      return Promise.withResolvers<undefined>().promise
    }
    const workFolder = join(folder, 'killed')
    const program = fileURLToPath(new URL('./embed-process.ts', import.meta.url))
    const child = fork(program, [workFolder, '300', endpoint.baseUrl, ...(cached ? [cache.path] : [])], {
      execArgv: [],
    })
    await held.promise
    child.kill('SIGKILL')
    await once(child, 'exit')
    const answered = new Set(endpoint.passages().slice(0, 120))
    expect(answered.size).toBe(120)

    endpoint.behaviour.gate = () => Promise.resolve(undefined)
    endpoint.requests.splice(0)
    const { folder: files } = await runEmbedStage({
      workFolder,
      passages: corpus(300),
      baseUrl: endpoint.baseUrl,
      cache: cached ? cache : undefined,
    })
    expect(endpoint.passages()).toHaveLength(180)
    expect(endpoint.passages().filter((text) => answered.has(text))).toEqual([])
    expect(readFileSync(join(files, '0000000000.f32')).equals(undisturbed.bytes)).toBe(true)
  })
})

test('a failure names document and passage, and never the text', async () => {
  const secret = 'What only this passage says.'
  const passages = corpus(50).map((passage, n) => (n === 30 ? { ...passage, text: secret } : passage))
  endpoint.behaviour.gate = ({ input: texts }) =>
    Promise.resolve(texts.some((text) => text.includes(secret)) ? 422 : undefined)
  const failure = await build(passages).then(
    () => '',
    (error: unknown) => String(error),
  )
  expect(failure).toMatch(/passage doc-3#r30 of "Rulebook 3" could not be embedded: .*422/)
  expect(failure).not.toContain('What only')
})
