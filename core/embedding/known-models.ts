const TASK = 'Instruct: Given a web search query, retrieve relevant passages that answer the query\n'
const REPRESENT = 'Represent this sentence for searching relevant passages: '

/**
 * Patterns of names in lower case, as model hubs, servers and hosts write them: `intfloat/multilingual-e5-small`,
 * `nomic-embed-text:latest`, `text-embedding-nomic-embed-text-v1.5`. The first that matches counts.
 */
const KNOWN: readonly (readonly [pattern: RegExp, query: string, passage: string, tokensMax: number])[] = [
  [/\be5-mistral-7b-instruct/, `${TASK}Query: `, '', 4_096],
  [/\be5-[a-z0-9-]*instruct/, `${TASK}Query: `, '', 512],
  [/\be5(?:-|\b)/, 'query: ', 'passage: ', 512],
  [/\bqwen3-embedding/, `${TASK}Query:`, '', 32_768],
  [/\bgte-qwen2-[a-z0-9.]+-instruct/, `${TASK}Query: `, '', 32_768],
  [/\bgte-(?:multilingual|modernbert|[a-z]+-en-v1\.5)/, '', '', 8_192],
  [/\bgte-(?:small|base|large)/, '', '', 512],
  [/\bbge-m3/, '', '', 8_192],
  [/\bbge-(?:small|base|large)-en/, REPRESENT, '', 512],
  [/\bbge-(?:small|base|large)-zh/, '为这个句子生成表示以用于检索相关文章：', '', 512],
  [/\bnomic-embed-text-v2/, 'search_query: ', 'search_document: ', 512],
  [/\bnomic-embed-text/, 'search_query: ', 'search_document: ', 8_192],
  [/\bmxbai-embed-large/, REPRESENT, '', 512],
  [/\bsnowflake-arctic-embed-[a-z]+-v2/, 'query: ', '', 8_192],
  [/\bsnowflake-arctic-embed2/, 'query: ', '', 8_192],
  [/\bsnowflake-arctic-embed-m-long/, REPRESENT, '', 2_048],
  [/\bsnowflake-arctic-embed/, REPRESENT, '', 512],
  [/\bembeddinggemma/, 'task: search result | query: ', 'title: none | text: ', 2_048],
  [/\bjina-embeddings-v2/, '', '', 8_192],
  [/\ball-minilm-l\d+/, '', '', 256],
  [/\btext-embedding-(?:3-small|3-large|ada-002)\b/, '', '', 8_191],
]

/**
 * Returns what is known of a model; undefined for any other.
 * @returns `tokensMax`: of one text; the rest is cut or refused.
 */
export function knownModel(name: string) {
  const found = KNOWN.find(([pattern]) => pattern.test(name.toLowerCase().replaceAll('_', '-')))
  if (found === undefined) return undefined
  const [, query_prefix, passage_prefix, tokensMax] = found
  return { query_prefix, passage_prefix, tokensMax }
}
