import { describe, expect, test } from 'vitest'
import { EMBEDDING_SETTINGS, withEncoder } from '#core/embedding/settings.ts'
import { readConfig } from '#core/platform/config.ts'

describe('OPENAI_QUERY_PREFIX and OPENAI_PASSAGE_PREFIX', () => {
  const { OPENAI_QUERY_PREFIX, OPENAI_PASSAGE_PREFIX, OPENAI_DIMENSIONS } = EMBEDDING_SETTINGS
  const variables = { OPENAI_QUERY_PREFIX, OPENAI_PASSAGE_PREFIX, OPENAI_DIMENSIONS }

  test('spaces and lines are kept, and an empty value differs from none', () => {
    expect(readConfig(variables, {})).toEqual({})
    expect(
      readConfig(variables, {
        OPENAI_QUERY_PREFIX: 'Instruct: find\nQuery: ',
        OPENAI_PASSAGE_PREFIX: '',
        OPENAI_DIMENSIONS: '',
      }),
    ).toEqual({ OPENAI_QUERY_PREFIX: 'Instruct: find\nQuery: ', OPENAI_PASSAGE_PREFIX: '' })
  })
})

test('OPENAI_MODEL has no control characters', () => {
  const { OPENAI_MODEL } = EMBEDDING_SETTINGS
  expect(() => readConfig({ OPENAI_MODEL }, { OPENAI_MODEL: 'e5\u001b[2J' })).toThrow('OPENAI_MODEL is not valid')
  expect(readConfig({ OPENAI_MODEL }, { OPENAI_MODEL: 'intfloat/e5 modèle' })).toEqual({
    OPENAI_MODEL: 'intfloat/e5 modèle',
  })
})

test('EMBEDDING=onnx names the address of the encoder, unless another endpoint is configured', () => {
  const { EMBEDDING, OPENAI_BASE_URL } = EMBEDDING_SETTINGS
  const addressOf = (environment: NodeJS.ProcessEnv): string | undefined =>
    withEncoder(readConfig({ EMBEDDING, OPENAI_BASE_URL }, environment)).OPENAI_BASE_URL
  expect(addressOf({ EMBEDDING: 'onnx' })).toBe('http://127.0.0.1:8766/v1')
  expect(addressOf({ EMBEDDING: 'onnx', OPENAI_BASE_URL: 'http://other/v1' })).toBe('http://other/v1')
  expect(addressOf({})).toBeUndefined()
  expect(() => addressOf({ EMBEDDING: 'words' })).toThrow('EMBEDDING is not valid')
})
