import { expect, test } from 'vitest'
import { knownModel } from '#core/embedding/known-models.ts'

const TASK = 'Instruct: Given a web search query, retrieve relevant passages that answer the query\n'
const REPRESENT = 'Represent this sentence for searching relevant passages: '

test.each([
  ['intfloat/multilingual-e5-small', 'query: ', 'passage: ', 512],
  ['intfloat/e5-base-v2', 'query: ', 'passage: ', 512],
  ['e5', 'query: ', 'passage: ', 512],
  ['intfloat/multilingual-e5-large-instruct', `${TASK}Query: `, '', 512],
  ['jeffh/intfloat-multilingual-e5-large-instruct:q8_0', `${TASK}Query: `, '', 512],
  ['intfloat/e5-mistral-7b-instruct', `${TASK}Query: `, '', 4_096],
  ['Qwen/Qwen3-Embedding-0.6B', `${TASK}Query:`, '', 32_768],
  ['BAAI/bge-m3', '', '', 8_192],
  ['bge-m3:567m', '', '', 8_192],
  ['BAAI/bge-base-en-v1.5', REPRESENT, '', 512],
  ['BAAI/bge-small-zh-v1.5', '为这个句子生成表示以用于检索相关文章：', '', 512],
  ['nomic-embed-text:latest', 'search_query: ', 'search_document: ', 8_192],
  ['text-embedding-nomic-embed-text-v1.5', 'search_query: ', 'search_document: ', 8_192],
  ['nomic-ai/nomic-embed-text-v2-moe', 'search_query: ', 'search_document: ', 512],
  ['mixedbread-ai/mxbai-embed-large-v1', REPRESENT, '', 512],
  ['Snowflake/snowflake-arctic-embed-m-v1.5', REPRESENT, '', 512],
  ['Snowflake/snowflake-arctic-embed-l-v2.0', 'query: ', '', 8_192],
  ['snowflake-arctic-embed2', 'query: ', '', 8_192],
  ['thenlper/gte-base', '', '', 512],
  ['Alibaba-NLP/gte-multilingual-base', '', '', 8_192],
  ['Alibaba-NLP/gte-large-en-v1.5', '', '', 8_192],
  ['google/embeddinggemma-300m', 'task: search result | query: ', 'title: none | text: ', 2_048],
  ['jinaai/jina-embeddings-v2-base-de', '', '', 8_192],
  ['sentence-transformers/all-MiniLM-L6-v2', '', '', 256],
  ['text-embedding-3-small', '', '', 8_191],
])('%s is known as its card describes it', (name, query_prefix, passage_prefix, tokensMax) => {
  expect(knownModel(name)).toEqual({ query_prefix, passage_prefix, tokensMax })
})

test('of another model nothing is known', () => {
  for (const name of ['some-model', 'text-embedding-004', 'e50', 'mistral-embed', 'one5', ''])
    expect(knownModel(name), name).toBeUndefined()
})
