import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { flaggedEmbedding, openFlaggedEmbedder, type EmbeddingFlags } from '#operator/command-line/embedding-flags.ts'
import { modelFolderOf, withOwnEncoder } from '#operator/command-line/own-encoder.ts'
import { TINY_DIMENSIONS, tinyVector, writeTinyModel } from '#test/support/tiny-model.ts'
import { folderOfTest } from '#test/support/folder.ts'

interface OpenedWith {
  readonly space: object | undefined
  readonly vectors: readonly Float32Array[]
  readonly flags: EmbeddingFlags
}

const { signal } = new AbortController()

test('--model starts the encoder of a folder, embeds with its prompts, and ends it', async () => {
  const model = writeTinyModel()
  expect(flaggedEmbedding({ model })).toBe('openai')
  const opened = await withOwnEncoder<EmbeddingFlags, OpenedWith>({ model }, signal, async (flags, either) => {
    const embedder = await openFlaggedEmbedder(flags, either)
    const vectors = (await embedder?.embed(['duty report'], 'query', either))?.vectors ?? []
    return { space: embedder?.space, vectors, flags }
  })
  expect(opened.flags.model).toBeUndefined()
  expect(opened.space).toMatchObject({
    provider: 'openai',
    model: 'tiny',
    dimensions: TINY_DIMENSIONS,
    query_prefix: 'query: ',
    passage_prefix: 'passage: ',
    model_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  const expected = tinyVector(['query:', 'duty', 'report'])
  for (const [at, value] of (opened.vectors[0] ?? []).entries()) expect(value).toBeCloseTo(expected[at] ?? 0, 5)
  await expect(fetch(`${opened.flags.embeddings}/models`)).rejects.toThrow()
})

test('the encoder ends where the work fails, and its own refusal is told', async () => {
  const urls: (string | undefined)[] = []
  const failing = withOwnEncoder<EmbeddingFlags, never>({ model: writeTinyModel() }, signal, (flags) => {
    urls.push(flags.embeddings)
    return Promise.reject(new Error('the work failed'))
  })
  await expect(failing).rejects.toThrow('the work failed')
  await expect(fetch(`${urls[0]}/models`)).rejects.toThrow()
  const faulty = writeTinyModel({ files: { 'tokenizer.json': undefined } })
  const refused = withOwnEncoder({ model: faulty }, signal, () => Promise.resolve())
  await expect(refused).rejects.toThrow(/^The encoder ended \(code 1\): The model folder .* tokenizer\.json is missing/)
})

test('a name is that of a folder of models; any other is refused with what to do, and so are two encoders', async () => {
  const folder = writeTinyModel()
  expect(modelFolderOf('tiny', dirname(folder))).toBe(folder)
  expect(modelFolderOf(folder)).toBe(folder)
  const empty = folderOfTest()
  expect(() => modelFolderOf('bge-m3', empty)).toThrow(/There is no model folder .* -- models fetch bge-m3"\.$/)
  for (const name of ['../tiny', './tiny', '..'])
    expect(() => modelFolderOf(`${name}/nowhere`, folder)).toThrow(/models fetch NAME/)
  const both = { model: folder, embeddings: 'http://127.0.0.1:9/v1' }
  await expect(withOwnEncoder(both, signal, () => Promise.resolve())).rejects.toThrow(
    /^--model starts an encoder of its own: leave out it or --embeddings\.$/,
  )
})
