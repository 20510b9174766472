import { statSync, truncateSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { graphWithoutWeights } from '#jobs/encoder/graph-file.ts'
import { openEncoder } from '#jobs/encoder/encoder.ts'
import { readModelFolder } from '#jobs/encoder/model-folder.ts'
import { TINY_DIMENSIONS, writeTinyModel, type TinyModelChange } from '#test/support/tiny-model.ts'
import fc from 'fast-check'
import { Tokenizer, createTokenizer, type TokenizerFile } from '#jobs/encoder/tokenizer.ts'

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

const SPECIAL = ['<s>', '</s>', '<unk>']

function fileOf(pieces: readonly (readonly [string, number])[]): TokenizerFile & object {
  const metaspace = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true }
  const vocab = [...SPECIAL.map((text) => [text, 0]), ...pieces]
  const added = [...SPECIAL.map((content, id) => ({ id, content })), { id: vocab.length, content: '<mask>' }]
  return {
    version: '1.0',
    added_tokens: added.map((each) => ({ ...each, special: true, normalized: false })),
    normalizer: { type: 'NFKC' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, metaspace] },
    post_processor: null,
    decoder: metaspace,
    model: { type: 'Unigram', unk_id: SPECIAL.indexOf('<unk>'), vocab },
  } as TokenizerFile & object
}

const characters = ['▁', 'a', 'b', 'ß', '法', '😀', '<', 'm']
const text = (alphabet: readonly string[]): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 5 })
const pieces = fc.uniqueArray(fc.tuple(text(characters), fc.integer({ min: -12, max: -1 })), {
  selector: ([piece]) => piece,
  maxLength: 40,
})
const texts = fc.array(text([...characters, ' ', '<mask>', '＜', '<s>', 'z']), { maxLength: 8 })

test('a text has the tokens that the package gives it with its own tree of the vocabulary', () => {
  fc.assert(
    fc.property(pieces, texts, (vocabulary, words) => {
      const own = createTokenizer(fileOf(vocabulary), {})
      const packaged = new Tokenizer(fileOf(vocabulary), {})
      const whole = words.join('')
      expect(own.encode(whole).ids).toEqual(packaged.encode(whole).ids)
    }),
  )
})
