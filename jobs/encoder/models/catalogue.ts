/** A file of a revision of a repository on the model hub. */
export interface PinnedFile {
  /** In the repository, and below the model folder. */
  readonly path: string
  readonly bytes: number
  /** Lower-case hex. */
  readonly sha256: string
}

export interface KnownRelease {
  readonly repository: string
  readonly revision: string
  readonly licence: string
  readonly files: readonly PinnedFile[]
  /** Files that say how the model is used, by their path: what the repository has of it, in the layout that is read. */
  readonly layout: Readonly<Record<string, object>>
  /** What this project measured of the model; absent: nothing. */
  readonly measured?: Readonly<Record<'quality' | 'speed' | 'memory', string>>
}

interface Use {
  readonly dimensions: number
  readonly positions: number
  readonly tokensMax: number
  readonly pooling: 'mean' | 'cls'
  readonly prompts: Readonly<Record<string, string>>
}

/** The layout of sentence-transformers, as the cards of the models describe their use. */
function layoutOf({ dimensions, positions, tokensMax, pooling, prompts }: Use): KnownRelease['layout'] {
  const of = 'sentence_transformers.models'
  return {
    'modules.json': [
      { path: '', type: `${of}.Transformer` },
      { path: '1_Pooling', type: `${of}.Pooling` },
      { path: '2_Normalize', type: `${of}.Normalize` },
    ],
    'config.json': { hidden_size: dimensions, max_position_embeddings: positions, pad_token_id: 1 },
    '1_Pooling/config.json': {
      word_embedding_dimension: dimensions,
      pooling_mode_cls_token: pooling === 'cls',
      pooling_mode_mean_tokens: pooling === 'mean',
    },
    'config_sentence_transformers.json': { prompts },
    'sentence_bert_config.json': { max_seq_length: tokensMax, do_lower_case: false },
  }
}

const file = (path: string, bytes: number, sha256: string): PinnedFile => ({ path, bytes, sha256 })

const E5_PROMPTS = { query: 'query: ', passage: 'passage: ' }

/** Decision 0050 says where sizes and digests come from. */
export const CATALOGUE: Readonly<Record<string, KnownRelease>> = {
  'multilingual-e5-small': {
    repository: 'intfloat/multilingual-e5-small',
    revision: '614241f622f53c4eeff9890bdc4f31cfecc418b3',
    licence: 'MIT',
    files: [
      file('onnx/model.onnx', 470_268_510, 'ca456c06b3a9505ddfd9131408916dd79290368331e7d76bb621f1cba6bc8665'),
      file('tokenizer.json', 17_082_730, '0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39'),
    ],
    layout: layoutOf({ dimensions: 384, positions: 512, tokensMax: 512, pooling: 'mean', prompts: E5_PROMPTS }),
    // Its weights in four bits: docs/measure/evaluate.md and decision 0041.
    measured: {
      quality: 'recall@5 48/54, words 41/54 (field questions, usual words)',
      speed: '5,400 tokens/s (two cores, four bits)',
      memory: '495 MB (four bits)',
    },
  },
  'multilingual-e5-base': {
    repository: 'intfloat/multilingual-e5-base',
    revision: 'd128750597153bb5987e10b1c3493a34e5a4502a',
    licence: 'MIT',
    files: [
      file('onnx/model.onnx', 1_110_059_084, '84a4d426f7e87a6bf5bf195f0bae2c4a7d15f675b23ca96f42fab8326d7a77aa'),
      file('tokenizer.json', 17_082_660, '62c24cdc13d4c9952d63718d6c9fa4c287974249e16b7ade6d5a85e7bbb75626'),
    ],
    layout: layoutOf({ dimensions: 768, positions: 514, tokensMax: 512, pooling: 'mean', prompts: E5_PROMPTS }),
  },
  'bge-m3': {
    repository: 'BAAI/bge-m3',
    revision: '5617a9f61b028005a4858fdac845db406aefb181',
    licence: 'MIT',
    files: [
      file('onnx/model.onnx', 724_923, 'f84251230831afb359ab26d9fd37d5936d4d9bb5d1d5410e66442f630f24435b'),
      file('onnx/model.onnx_data', 2_266_820_608, '1eebfb28493f67bba03ce0ef64bfdc7fc5a3bd9d7493f818bb1d78cd798416b4'),
      file('onnx/Constant_7_attr__value', 65_552, 'cdf16f72c5d07b36484056e601ed9687f78477e5d85cee85a34f2406b7fb5906'),
      file('tokenizer.json', 17_098_108, '21106b6d7dab2952c1d496fb21d5dc9db75c28ed361a05f5020bbba27810dd08'),
    ],
    layout: layoutOf({ dimensions: 1_024, positions: 8_194, tokensMax: 8_192, pooling: 'cls', prompts: {} }),
  },
}

/** Names the release in a folder that was fetched; whoever reads the folder compares its files with that release. */
export const FETCHED_FILE = 'fetched.json'
