import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readConfig } from '#core/platform/config.ts'
import { SETTINGS, parseServiceSecrets } from '#core/platform/settings.ts'

const { SERVICE_SECRET } = SETTINGS
const base64 = (bytes: number): string => randomBytes(bytes).toString('base64')

describe('SERVICE_SECRET', () => {
  test('it holds one secret or two, in the order in which they are given', () => {
    const [first, second] = [randomBytes(32), randomBytes(32)]
    expect(parseServiceSecrets(first.toString('base64'))).toEqual([first])
    expect(parseServiceSecrets(`${first.toString('base64')},${second.toString('base64')}`)).toEqual([first, second])
    expect(parseServiceSecrets(` ${second.toString('base64url')} , ${first.toString('base64')}\n`)).toEqual([
      second,
      first,
    ])
  })

  const same = randomBytes(32)
  test.each([
    ['nothing', ','],
    ['31 bytes', base64(31)],
    ['33 bytes', base64(33)],
    ['a second that is empty', `${base64(32)},`],
    ['a first that is empty', `,${base64(32)}`],
    ['a second of 16 bytes', `${base64(32)},${base64(16)}`],
    ['three secrets', [base64(32), base64(32), base64(32)].join(',')],
    ['two secrets without a comma', `${base64(32)}${base64(32)}`],
    ['another separator', `${base64(32)};${base64(32)}`],
    ['characters that are no base64', `!!${base64(32)}`],
    ['the same secret twice', `${same.toString('base64')},${same.toString('base64')}`],
    ['the same secret in two spellings', `${same.toString('base64')},${same.toString('base64url')}`],
  ])('%s is refused in one sentence that does not repeat it', (_, value) => {
    expect(() => readConfig({ SERVICE_SECRET }, { SERVICE_SECRET: value })).toThrow(
      new RegExp(`^The configuration has 1 fault\\(s\\):\\n  SERVICE_SECRET is not valid: ${SERVICE_SECRET.help}$`),
    )
  })
})

describe('OPENAI_QUERY_PREFIX and OPENAI_PASSAGE_PREFIX', () => {
  const { OPENAI_QUERY_PREFIX, OPENAI_PASSAGE_PREFIX, OPENAI_DIMENSIONS } = SETTINGS
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

test.each(['OPENAI_BASE_URL', 'RERANK_BASE_URL'] as const)('%s holds no credentials and no query', (name) => {
  const refusedValues = [
    'http://user:secret@host/v1',
    'http://secret@host/v1',
    'http://host/v1?key=secret',
    'ftp://host',
  ]
  for (const value of refusedValues)
    expect(() => readConfig({ [name]: SETTINGS[name] }, { [name]: value })).toThrow(`${name} is not valid`)
  expect(readConfig({ [name]: SETTINGS[name] }, { [name]: 'http://host:8080/v1/' })).toEqual({
    [name]: 'http://host:8080/v1/',
  })
})

test.each(['OPENAI_API_KEY', 'RERANK_API_KEY'] as const)('%s is what a header can carry, on one line', (name) => {
  for (const value of ['sk-one\nsk-two', 'sk-\u0007', 'sk-é', 'sk one'])
    expect(() => readConfig({ [name]: SETTINGS[name] }, { [name]: value })).toThrow(`${name} is not valid`)
  expect(readConfig({ [name]: SETTINGS[name] }, { [name]: 'sk-one\n' })).toEqual({ [name]: 'sk-one' })
})

test('OPENAI_MODEL has no control characters', () => {
  const { OPENAI_MODEL } = SETTINGS
  expect(() => readConfig({ OPENAI_MODEL }, { OPENAI_MODEL: 'e5\u001b[2J' })).toThrow('OPENAI_MODEL is not valid')
  expect(readConfig({ OPENAI_MODEL }, { OPENAI_MODEL: 'intfloat/e5 modèle' })).toEqual({
    OPENAI_MODEL: 'intfloat/e5 modèle',
  })
})
