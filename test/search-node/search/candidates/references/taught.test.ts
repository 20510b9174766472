import { expect, test } from 'vitest'
import { EVERYTHING } from '#test/support/search.ts'
import { importLines, line, smallMapping } from '#test/support/import.ts'
import { testRows } from '#test/support/passages.ts'
import { openCorpus } from '#test/support/fixtures.ts'

/** Language, act, label, references and text of a record. */
const RECORDS = [
  ['mg', 'Lalàna momba ny Tantely', 'Lalàna momba ny Tantely, Andininy faha-5', '#andininy-5', 'Manoratra ny tohotra.'],
  ['mg', 'Lalàna momba ny Tantely', 'Andininy faha-6', '#andininy-6', 'Hadio isan-taona ny tohotra rehetra.'],
  ['mg', 'Lalàna momba ny Tantely', 'Lalàna momba ny Tantely 2019', '', 'Lalàna momba ny fiompiana tantely.'],
  ['am', 'የንብ አዋጅ', 'የንብ አዋጅ፣ አንቀጽ 7', '#አንቀጽ-7', 'ንብ አናቢ ሁሉ ቀፎውን ያስመዘግባል።'],
  ['am', 'የንብ አዋጅ', 'አንቀጽ 8(2)', '#አንቀጽ-8/2', 'ቀፎ በየዓመቱ ይጸዳል።'],
  ['en', 'Hives Act', 'Hives Act, verse 9', '', 'A keeper registers every hive.'],
  ['en', 'Hives Act', 'provision final 3 of the Hives Act', '#final-3', 'Hives are cleaned.'],
] as const
const ids = new Map(RECORDS.map(([lang, name]) => [name, `x:${lang}`]))
const records = RECORDS.map(([lang, name, cited, , text], n) =>
  line(`${n}`, text, { lang, act: lang, section: `${n}`, cited, name }),
)
const cited = { citation_label: '{metadata.cited}', reference: '{metadata.cited}' }
const mapping = smallMapping({ act: 'x:{metadata.act}', aliases: '{metadata.name}', ...cited })
const { passages, report } = await importLines(records, mapping)

test('a label teaches the word before the number at its end, in a language without a table; a year has none', () => {
  expect(passages.map(({ references }) => references)).toEqual(
    RECORDS.map(([, name, , path]) => [`${ids.get(name)}${path}`]),
  )
  expect(report.warnings.entries.map(({ id }) => id)).toEqual(['2', '5'])
})

const traits = (n: number) => ({
  references: passages[n]?.references ?? [],
  text: passages[n]?.text ?? '',
  language: RECORDS[n]?.[0] ?? '',
})
const rows = testRows({ rows: RECORDS.length, dimensions: 8, seed: 5, traits })
const corpus = await openCorpus({ rows, acts: report.acts })

test.each([
  ["Inona no voalazan'ny andininy faha-5?", [0], []],
  ["Andininy faha-6 amin'ny Lalàna momba ny Tantely", [1], []],
  ['በአንቀጽ 7 ምን ተደነገገ?', [3], []],
  ['Inona ny andininy faha-99 momba ny tohotra?', [], ['*#andininy-99']],
  ["Andininy faha-5 amin'ny Lalàna momba ny Trondro", [], ['name:lalana#andininy-5']],
  ['የዓሣ አዋጅ አንቀጽ 7 ምን ይላል?', [], ['name:አዋጅ#አንቀጽ-7']],
  ['Firy ny tohotra ao anaty tranony 5?', [], []],
  ['Which final 3 keepers register verse 9 hives?', [], []],
])(
  'a question by a taught word is answered from the provision of its act, or not at all: %s',
  async (text, held, lacks) => {
    const filters = { ...EVERYTHING, languages: ['am', 'en', 'mg'] }
    const { passages: found, unsupported } = await corpus.ask({ text, filters })
    const named = found.flatMap((each) => (each.named ? [Number(each.sourceId.split('#r')[1])] : []))
    expect([named, unsupported.map(({ normalized }) => normalized)]).toEqual([held, lacks])
  },
)
