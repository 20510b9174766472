import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { failureOf } from '#operator/command-line/failure.ts'

test.each([
  [
    'EACCES',
    '/store/snapshots',
    'This account may not use /store/snapshots: correct the rights there, or the path given, or ARTIFACT_STORE.',
  ],
  [
    'EROFS',
    '/store/snapshots',
    '/store/snapshots is on a read-only file system: point ARTIFACT_STORE to a writable one.',
  ],
  [
    'ENOSPC',
    undefined,
    'There is no space left for a file of the artifact store: free some or point ARTIFACT_STORE to ' +
      'another disk, then repeat the command.',
  ],
])('%s from the file system is told as what to correct', (code, path, sentence) => {
  const error = Object.assign(new Error(`${code}: refused`), { code, ...(path === undefined ? {} : { path }) })
  expect(failureOf(error)).toEqual({ exitCode: 1, sentence })
})

test('a SQLite file on a full disk is told like any other file on it', () => {
  const database = new DatabaseSync(':memory:')
  database.exec('pragma max_page_count = 2')
  let failure: unknown
  try {
    database.exec('create table a (x); create table b (x); create table c (x)')
  } catch (error) {
    failure = error
  }
  database.close()
  expect(failureOf(failure).sentence).toMatch(/^There is no space left for a file of the artifact store: free some/)
})
