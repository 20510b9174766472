import { expect, test } from 'vitest'
import { lightStem } from '#core/embedding/local/light-stemmer.ts'
import { fold } from '#core/index/analysis/words.ts'

test.each([
  ['English', ['notify', 'notifies', 'notified', 'notifying']],
  ['English', ['breach', 'breaches', 'breached']],
  ['English', ['submit', 'submits', 'submitted', 'submitting']],
  ['English', ['policy', 'policies']],
  ['German', ['Vertrag', 'Vertrages', 'Verträge', 'Verträgen']],
  ['German', ['Behörde', 'Behörden']],
  ['French', ['contrat', 'contrats']],
  ['French', ['demande', 'demandes', 'demandé', 'demandée']],
])('%s inflections fold together: %j', (_language, inflections) => {
  expect(new Set(inflections.map((word) => lightStem(fold(word)))).size).toBe(1)
})

test('words of different meaning stay apart', () => {
  const different = [
    'person',
    'personal',
    'process',
    'processor',
    'data',
    'date',
    'custody',
    'custom',
    'audit',
    'audience',
    'liable',
    'liability',
  ]
  expect(new Set(different.map(lightStem)).size).toBe(different.length)
})

test('numbers, references, short words and other scripts are left as they are', () => {
  for (const word of ['2016/679', '33(1)', 'eu', 'gas', '個人データ', 'данные']) expect(lightStem(word)).toBe(word)
})
