import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Dimensions of the tiny model, and the tokens that it takes at once. */
export const TINY_DIMENSIONS = 8
export const TINY_TOKENS_MAX = 16

const WORDS = ['query:', 'passage:', 'duty', 'report', 'bank', 'breach', 'notify', 'within', 'days'] as const
const SPECIAL = ['<s>', '</s>', '<unk>'] as const
/** A page of memory: more than the vocabulary has, so that the encoder maps the table. */
const TABLE_ROWS = 128
const VOCABULARY = [...SPECIAL, ...WORDS.map((word) => `▁${word}`)]

/** Field of a protobuf message. Bytes are length-delimited, a number is a varint; all values are below 2^28. */
type Field = readonly [field: number, value: number | string | Uint8Array]

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]
}

function message(...fields: readonly Field[]): Uint8Array {
  return Buffer.concat(
    fields.map(([field, value]) => {
      if (typeof value === 'number') return Buffer.from([...varint(field << 3), ...varint(value)])
      const bytes = Buffer.from(value)
      return Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(bytes.length)]), bytes])
    }),
  )
}

const INT64 = 7
const FLOAT = 1

function valueInfo(name: string, type: number, dimensions: readonly (string | number)[]): Uint8Array {
  const shape = message(
    ...dimensions.map((each): Field => [1, typeof each === 'number' ? message([1, each]) : message([2, each])]),
  )
  return message([1, name], [2, message([1, message([1, type], [2, shape])])])
}

export interface TinyModelChange {
  /** Each makes another model. */
  readonly weights?: number
  readonly inputs?: readonly string[]
  /** In place of files of the folder; undefined leaves one out. */
  readonly files?: Readonly<Record<string, unknown>>
}

/** An ONNX graph (onnx.proto, IR 8, opset 17) that looks the vector of each token up. */
function graph({ weights = 1, inputs = ['input_ids', 'attention_mask'] }: TinyModelChange): Uint8Array {
  const table = Float32Array.from({ length: TABLE_ROWS * TINY_DIMENSIONS }, (_, at) => Math.sin(weights * (at + 1)))
  const tensor = message(
    [1, TABLE_ROWS],
    [1, TINY_DIMENSIONS],
    [2, FLOAT],
    [8, 'table'],
    [9, new Uint8Array(table.buffer)],
  )
  const gather = message([1, 'table'], [1, 'input_ids'], [2, 'last_hidden_state'], [4, 'Gather'])
  return message(
    [1, 8],
    [8, message([2, 17])],
    [
      7,
      message(
        [1, gather],
        [2, 'tiny'],
        [5, tensor],
        ...inputs.map((name): Field => [11, valueInfo(name, INT64, ['batch', 'length'])]),
        [12, valueInfo('last_hidden_state', FLOAT, ['batch', 'length', TINY_DIMENSIONS])],
      ),
    ],
  )
}

function tokenizer(): object {
  const added = (token: string): object => ({ SpecialToken: { id: token, type_id: 0 } })
  const metaspace = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true }
  return {
    version: '1.0',
    added_tokens: SPECIAL.map((content, id) => ({ id, content, special: true, normalized: false })),
    normalizer: { type: 'NFKC' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, metaspace] },
    post_processor: {
      type: 'TemplateProcessing',
      single: [added('<s>'), { Sequence: { id: 'A', type_id: 0 } }, added('</s>')],
      special_tokens: {
        '<s>': { id: '<s>', ids: [0], tokens: ['<s>'] },
        '</s>': { id: '</s>', ids: [1], tokens: ['</s>'] },
      },
    },
    decoder: metaspace,
    model: { type: 'Unigram', unk_id: 2, vocab: VOCABULARY.map((token, id) => [token, id < SPECIAL.length ? 0 : -id]) },
  }
}

/** Writes a model of a few kilobytes in the layout of sentence-transformers. @returns its folder, named `tiny`. */
export function writeTinyModel(change: TinyModelChange = {}): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'model-')), 'tiny')
  const of = 'sentence_transformers.models'
  const files: Readonly<Record<string, unknown>> = {
    'modules.json': [
      { idx: 0, name: '0', path: '', type: `${of}.Transformer` },
      { idx: 1, name: '1', path: '1_Pooling', type: `${of}.Pooling` },
      { idx: 2, name: '2', path: '2_Normalize', type: `${of}.Normalize` },
    ],
    'config.json': { hidden_size: TINY_DIMENSIONS, max_position_embeddings: TINY_TOKENS_MAX, pad_token_id: 1 },
    '1_Pooling/config.json': { word_embedding_dimension: TINY_DIMENSIONS, pooling_mode_mean_tokens: true },
    'config_sentence_transformers.json': { prompts: { query: 'query: ', document: 'passage: ' } },
    'tokenizer.json': tokenizer(),
    'onnx/model.onnx': graph(change),
    ...change.files,
  }
  for (const [name, value] of Object.entries(files)) {
    if (value === undefined) continue
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), value instanceof Uint8Array ? value : JSON.stringify(value))
  }
  return folder
}

/** The vector of a text of known words, computed from the table of weights. */
export function tinyVector(words: readonly string[], weights = 1): Float32Array {
  const ids = [0, ...words.map((word) => VOCABULARY.indexOf(`▁${word}`)), 1]
  const sums = Array.from({ length: TINY_DIMENSIONS }, (_, i) =>
    ids.reduce((sum, id) => sum + Math.fround(Math.sin(weights * (id * TINY_DIMENSIONS + i + 1))), 0),
  )
  const norm = Math.hypot(...sums)
  return Float32Array.from(sums, (value) => value / norm)
}
