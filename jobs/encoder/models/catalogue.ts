import RELEASES from './catalogue.json' with { type: 'json' }

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
  /** The first token stands for the text; else the mean of all does. */
  readonly poolsFirst: boolean
  readonly prompts: Readonly<Record<string, string>>
}

/** The layout of sentence-transformers, as the cards of the models describe their use. */
function layoutOf({ dimensions, positions, tokensMax, poolsFirst, prompts }: Use): KnownRelease['layout'] {
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
      pooling_mode_cls_token: poolsFirst,
      pooling_mode_mean_tokens: !poolsFirst,
    },
    'config_sentence_transformers.json': { prompts },
    'sentence_bert_config.json': { max_seq_length: tokensMax, do_lower_case: false },
  }
}

/**
 * Sizes and digests are those of the pinned revision. What is measured is of weights in four bits:
 * docs/measure/evaluate.md and decision 0041.
 */
export const CATALOGUE: Readonly<Record<string, KnownRelease>> = Object.fromEntries(
  Object.entries(RELEASES).map(([name, { use, ...release }]) => [name, { ...release, layout: layoutOf(use) }]),
)

/** Names the release in a folder that was fetched; whoever reads the folder compares its files with that release. */
export const FETCHED_FILE = 'fetched.json'
