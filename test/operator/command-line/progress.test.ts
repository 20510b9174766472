import { describe, expect, test } from 'vitest'
import { createProgress } from '#operator/command-line/progress.ts'
import { cell, fields, table } from '#operator/command-line/table.ts'
import { failureOf } from '#operator/command-line/failure.ts'

describe('progress', () => {
  function recorded(isTTY: boolean) {
    let [text, clock] = ['', 0]
    const progress = createProgress({ isTTY, write: (part) => (text += part) }, () => clock)
    return { progress, written: () => text, pass: (ms: number) => (clock += ms) }
  }

  test('away from a terminal it is plain lines: each stage, and every two seconds within one', () => {
    const { progress, written, pass } = recorded(false)
    for (let done = 0; done <= 10; done++) {
      progress.update('embed', done * 10, 100)
      pass(500)
    }
    progress.update('verify')
    progress.end()
    expect(written()).toBe('embed: 0 of 100 (0 %)\nembed: 40 of 100 (40 %)\nembed: 80 of 100 (80 %)\nverify …\n')
  })

  test('on a terminal it is one line, rewritten, and left standing at the end', () => {
    const { progress, written, pass } = recorded(true)
    progress.update('capturing', 1, 2)
    pass(50)
    progress.update('capturing', 2, 2)
    progress.end()
    expect(written()).toBe('\r\u001b[2Kcapturing: 1 of 2 (50 %)\r\u001b[2Kcapturing: 2 of 2 (100 %)\n')
  })

  test('a stage of known length says how much time is left, once it has a pace', () => {
    const { progress, written, pass } = recorded(false)
    progress.update('reading', 10, 1_010)
    pass(6_000)
    progress.update('reading', 30, 1_010)
    pass(60_000)
    progress.update('reading', 910, 1_010)
    expect(written()).toBe(
      'reading: 10 of 1010 (0 %)\nreading: 30 of 1010 (2 %), about 5 min left\n' +
        'reading: 910 of 1010 (90 %), about 8 s left\n',
    )
  })

  test('work that reports nothing writes nothing', () => {
    const { progress, written } = recorded(true)
    progress.end()
    progress.end()
    expect(written()).toBe('')
  })
})

describe('tables', () => {
  test('columns line up by what is seen, numbers to the right, absent values as a dash', () => {
    const rows = [
      { name: 'Straße', count: 7, at: new Date('2026-01-02T03:04:05.678Z'), hidden: 'x' },
      { name: 'a', count: null, at: null, hidden: 'y' },
    ]
    expect(table(rows, 'name count=requests at', 'none')).toBe(
      'name    requests  at\nStraße         7  2026-01-02T03:04:05Z\na              –  –',
    )
    expect(table([], 'name', 'Nothing here.')).toBe('Nothing here.')
  })

  test('stored text cannot steer the terminal', () => {
    expect(cell('a\u001b[2Jb\nc\u202ed')).toBe('a [2Jb c d')
  })

  test('nested objects are indented under their name', () => {
    expect(fields({ id: 1, limits: { exposure: { days: 30 }, rate: 5 }, none: {} })).toBe(
      'id:     1\nlimits:\n  exposure:\n    days: 30\n  rate:     5\nnone:   {}',
    )
  })
})

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
