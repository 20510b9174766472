import { statSync, truncateSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { graphWithoutWeights } from '#jobs/encoder/graph-file.ts'
import { openEncoder } from '#jobs/encoder/encoder.ts'
import { readModelFolder } from '#jobs/encoder/model-folder.ts'
import { TINY_DIMENSIONS, writeTinyModel } from '#test/support/tiny-model.ts'
import type { TinyModelChange } from '#test/support/tiny-model.ts'

const pooling = { word_embedding_dimension: TINY_DIMENSIONS }
const dense = [
  { path: '', type: 'sentence_transformers.models.Transformer' },
  { path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
  { path: '2_Dense', type: 'sentence_transformers.models.Dense' },
]
const twoPoolings = { ...pooling, pooling_mode_cls_token: true, pooling_mode_mean_tokens: true }

describe('a model folder', () => {
  const refused: readonly [string, Readonly<Record<string, unknown>>, RegExp][] = [
    ['another pooling', { '1_Pooling/config.json': { ...pooling, pooling_mode_max_tokens: true } }, /max_tokens/],
    ['two poolings', { '1_Pooling/config.json': twoPoolings }, /cls_token with pooling_mode_mean_tokens/],
    ['another module', { 'modules.json': dense }, /module Dense/],
    ['a module outside of it', { 'modules.json': [{ type: 'Transformer', path: '../x' }] }, /modules\.json/],
    ['lower case', { 'sentence_bert_config.json': { do_lower_case: true } }, /do_lower_case/],
    ['other dimensions', { 'config.json': { hidden_size: 16 } }, /8 dimensions, and its transformer 16/],
    ['no graph', { 'onnx/model.onnx': undefined }, /onnx\/model\.onnx is missing/],
    ['no tokenizer', { 'tokenizer.json': undefined }, /tokenizer\.json is missing/],
  ]
  for (const [what, files, message] of refused)
    test(`with ${what} is refused by name`, async () => {
      await expect(readModelFolder(writeTinyModel({ files }))).rejects.toThrow(message)
    })

  test('has another digest where weights or prompts differ, and the same for equal files', async () => {
    const changes: readonly TinyModelChange[] = [
      {},
      {},
      { weights: 2 },
      { files: { 'config_sentence_transformers.json': { prompts: {} } } },
    ]
    const models = await Promise.all(changes.map((change) => readModelFolder(writeTinyModel(change))))
    const digests = models.map(({ digest }) => digest)
    expect(digests[0]).toBe(digests[1])
    expect(new Set(digests).size).toBe(3)
  })

  test('whose graph asks for another input is refused by its name', async () => {
    const model = await readModelFolder(writeTinyModel({ inputs: ['input_ids', 'pixel_values'] }))
    await expect(openEncoder(model, 1)).rejects.toThrow(/pixel_values/)
  })

  test('whose graph is cut off is refused', async () => {
    const model = await readModelFolder(writeTinyModel())
    truncateSync(model.graphFile, 3_000)
    await expect(openEncoder(model, 1)).rejects.toThrow('the graph is cut off')
  })

  test('has its weights mapped from the file, not copied', async () => {
    const { graphFile } = await readModelFolder(writeTinyModel())
    const graph = graphWithoutWeights(graphFile, 'model.onnx')
    expect(graph.includes('model.onnx')).toBe(true)
    expect(graph.length).toBeLessThan(statSync(graphFile).size / 8)
  })
})
