import { describe, expect, test } from 'vitest'
import { EMBEDDING_SETTINGS } from '#core/embedding/settings.ts'
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
