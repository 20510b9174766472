import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EMBEDDING_SETTINGS } from '#core/embedding/settings.ts'
import { movedFaults, readConfig } from '#core/platform/config.ts'
import { READING_SETTINGS } from '#core/reading/settings.ts'
import { folderOfFile } from '#test/support/folder.ts'

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

test('a secret stands in a variable or in the file that NAME_FILE names, never in both; other variables have no file', () => {
  const file = join(folderOfFile(), 'key')
  writeFileSync(file, 'sk-one\n')
  const read = { OPENAI_API_KEY: SETTINGS.OPENAI_API_KEY, OPENAI_BASE_URL: SETTINGS.OPENAI_BASE_URL }
  const of = (environment: NodeJS.ProcessEnv): unknown => readConfig(read, environment)
  expect(of({ OPENAI_API_KEY_FILE: file })).toEqual({ OPENAI_API_KEY: 'sk-one' })
  expect(() => of({ OPENAI_API_KEY_FILE: file, OPENAI_API_KEY: 'sk-two' })).toThrow('are both set: unset one of them')
  expect(() => of({ OPENAI_API_KEY_FILE: `${file}.gone` })).toThrow('names no file that can be read')
  expect(of({ OPENAI_BASE_URL_FILE: file })).toEqual({})
})
