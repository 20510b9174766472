import { expect, test } from 'vitest'
import { EMBEDDING_SETTINGS, endpointOptionsSchema, withEncoder } from '#core/embedding/settings.ts'
import { readConfig } from '#core/platform/config.ts'

test('a build names a model without control characters, and prefixes as they are', () => {
  const prefixes = { query_prefix: 'Instruct: find\nQuery: ', passage_prefix: '' }
  const options = { model: 'intfloat/e5 modèle', ...prefixes }
  expect(endpointOptionsSchema.parse(options)).toEqual(options)
  expect(endpointOptionsSchema.safeParse({ model: 'e5\u001b[2J' }).success).toBe(false)
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
