import { expect, test } from 'vitest'
import { EMBEDDING_SETTINGS } from '#core/embedding/settings.ts'
import { movedFaults, readConfig } from '#core/platform/config.ts'
import { READING_SETTINGS } from '#core/reading/settings.ts'

const SETTINGS = { ...EMBEDDING_SETTINGS, ...READING_SETTINGS }

test.each(['OPENAI_BASE_URL', 'READER_BASE_URL'] as const)('%s holds no credentials and no query', (name) => {
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

test.each(['OPENAI_API_KEY', 'READER_API_KEY'] as const)('%s is what a header can carry, on one line', (name) => {
  for (const value of ['sk-one\nsk-two', 'sk-\u0007', 'sk-é', 'sk one'])
    expect(() => readConfig({ [name]: SETTINGS[name] }, { [name]: value })).toThrow(`${name} is not valid`)
  expect(readConfig({ [name]: SETTINGS[name] }, { [name]: 'sk-one\n' })).toEqual({ [name]: 'sk-one' })
})

test('a variable of an earlier release that is set is refused with what has its place', () => {
  const moved = { OLD_NAME: 'NEW_NAME', UNSET_NAME: 'ANOTHER' }
  const sentence = 'OLD_NAME is read no more: unset it, and use NEW_NAME'
  expect(movedFaults({ OLD_NAME: 'secret', UNSET_NAME: '' }, moved)).toEqual([sentence])
})
