import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { analyze, analyzeQuestion, createAnalyzer } from '#core/index/analysis/analyzer.ts'
import { cpuMs } from '#test/support/processes.ts'

/** The one list of terms that all the spellings give. */
function alike(language: string, spellings: readonly string[]): void {
  const [first = '', ...others] = spellings
  expect(analyze(first, language)).not.toEqual([])
  for (const other of others) expect(analyze(other, language), other).toEqual(analyze(first, language))
}

describe('in scripts without spaces between words', () => {
  test.each([
    ['zh', '根据本法第12条规定', ['根据', '据本', '本法', '法第', '12', '条规', '规定']],
    ['zh', '向EU提交GDPR第33(1)条', ['向', 'eu', '提交', 'gdpr', '第', '33(1)', '33', '条']],
    ['ja', '第１２条のﾃﾞｰﾀ', ['第', '12', '条の', 'のデ', 'デー', 'ータ']],
    ['ko', '제12조 계약을', ['제', '12', '조', '계약', '약을']],
    ['th', 'มาตรา๑๒ผู้เช่า', ['มา', 'าต', 'ตร', 'รา', '12', 'ผู้เ', 'เช่', 'ช่า']],
    ['km', 'មាត្រា', ['មាត្', 'ត្រា']],
    ['my', 'ပုဒ်မ', ['ပုဒ်', 'ဒ်မ']],
    ['lo', 'ມາດຕາ', ['ມາ', 'າດ', 'ດຕ', 'ຕາ']],
  ])(
    'a run is indexed by pairs of letters and ends at digits and other scripts, in %s: %s',
    (language, text, terms) => {
      expect(analyze(text, language)).toEqual(terms)
    },
  )

  test.each([
    ['th', 'ผู้เช่าบอกเลิกสัญญา', 'ผู้เช่า'],
    ['th', 'ขวดน้ำดื่ม', 'น้ำ'],
    ['lo', 'ຜູ້ເຊົ່າຍົກເລີກສັນຍາ', 'ສັນຍາ'],
    ['km', 'អ្នកជួលត្រូវជូនដំណឹង', 'ជួល'],
    ['my', 'အိမ်ငှားသူသည်', 'ငှားသူ'],
    ['ko', '임대차계약의', '계약'],
    ['ja', '個人データの漏えい', 'データ'],
  ])('a word is found within a run, in %s: %s', (language, run, word) => {
    expect(analyze(run, language)).toEqual(expect.arrayContaining(analyze(word, language)))
  })

  test('numbers and identifiers beside them are those of other texts', () => {
    expect(analyze('依据32024R1689号条例第5条(a)', 'zh')).toEqual(expect.arrayContaining(['32024r1689', '5']))
  })
})

describe('spellings that stand for one another have the same terms', () => {
  test.each([
    ['ar', ['المُسْتَأْجِر', 'المستاجر', 'المســتأجر', 'مستأجر', 'والمستأجر', 'للمستأجر', 'المستأجرون', 'مستأجرين']],
    ['ar', ['الإجراءات', 'إجراءات', 'اجراءات', 'أجراءات', 'والإجراءات', 'بالاجراءات']],
    ['ar', ['الإلكتروني', 'إلكتروني', 'إلكترونية', 'والالكترونيه']],
    ['ar', ['الالتزامات', 'التزام', 'والالتزام', 'بالتزام']],
    ['ar', ['المادة ١٢', 'الماده 12', 'المادة ۱۲']],
    ['fa', ['می\u200cشود', 'میشود', 'ميشود']],
    ['fa', ['کتاب', 'كتاب']],
    ['hi', ['अनुबंध', 'अनुबन्ध', 'अनुबंधों', 'अनुबन्धो', 'अनुब\u200dंध']],
    ['hi', ['लड़का', 'लडका', 'लड़के']],
    ['hi', ['किराये', 'किराए', 'किराया']],
    ['hi', ['संपत्ति', 'सम्पत्ति', 'सँपत्ति']],
    ['hi', ['धारा १२', 'धारा 12']],
    ['th', ['น้ำ', 'น\u0e49\u0e4d\u0e32', 'น\u0e4d\u0e49\u0e32']],
    ['th', ['แก้ไข', 'เเก้ไข', 'แก้\u200bไข']],
    ['ja', ['データ', 'ﾃﾞｰﾀ', 'テ\u3099ータ']],
    ['zh', ['葛\u{e0100}飾', '葛飾', '葛\ufe00\u2060飾']],
    ['ko', ['계약', '\u1100\u1168\u110b\u1163\u11a8', '계\u3164약']],
    ['ar', ['\u202bالعقد\u202c', 'ال\u200fعقد', 'العقد']],
  ])('in %s: %j', alike)
})

const anyScript = fc.string({
  unit: fc.oneof(
    fc.constantFrom('法', 'ก', '\u0e49', 'ខ', '\u17d2', '한', 'ع', '\u064b', 'क', '\u094d', '\u093c', 'ｱ', 'ﾞ', '１'),
    fc.constantFrom('\u202e', '\u200b', '\u2066', '\ud800', '\udc00', '\u0378', '\u{e0001}', '(', ')', '1', 'a', '-'),
  ),
  maxLength: 60,
})

test('a question covers every term that the same text is indexed under, in any script', () => {
  fc.assert(
    fc.property(anyScript, fc.constantFrom('zh', 'th', 'ar', 'hi', 'en'), (text, language) => {
      const terms = analyze(text, language)
      expect(createAnalyzer()(text, language)).toEqual(terms)
      const asked = analyzeQuestion(text, [language])
      expect(asked.terms.get(language)).toEqual(terms)
      for (const term of terms) {
        expect(term).not.toBe('')
        expect(term.isWellFormed()).toBe(true)
        expect(Buffer.byteLength(term)).toBeLessThanOrEqual(192)
      }
    }),
  )
})

const HOSTILE_BYTES = 100_000
const GROWTH = 4
/** Linear cost grows by 4, quadratic by 16. */
const RATIO_MAX = 8
/** A shorter time counts as this long. */
const NOISE_MS = 25
const ATTEMPTS_MAX = 6

/** Whether the shortest of several runs on the long text takes no more than linear cost allows. */
function isLinear(short: string, long: string, language: string): boolean {
  let [shortMs, longMs] = [NOISE_MS, Infinity]
  for (let attempt = 1; attempt <= ATTEMPTS_MAX && longMs > RATIO_MAX * shortMs; attempt += 1) {
    longMs = Math.min(
      longMs,
      cpuMs(() => analyze(long, language)),
    )
    if (longMs <= RATIO_MAX * NOISE_MS) return true
    const againMs = cpuMs(() => analyze(short, language))
    shortMs = Math.max(NOISE_MS, attempt === 1 ? againMs : Math.min(shortMs, againMs))
  }
  return longMs <= RATIO_MAX * shortMs
}

test.each([
  ['letters', '法'],
  ['letters with marks', 'ก\u0e38\u0e49'],
  ['marks of one letter in turn', '\u0e49\u0e38'],
  ['Latin marks in turn', '\u0301\u0323'],
  ['half-width sound marks in turn', '\uff9e\u0e38'],
  ['Tibetan vowels', '\u0f71\u0f72\u0f74'],
  ['changes of script', '法a1'],
  ['direction marks', '法\u202e\u2066'],
  ['zero-width characters', 'ก\u200b\u200d'],
  ['lone surrogates', '法\ud800'],
  ['unassigned code points', '法\u0378\u{1ffff}'],
  ['Arabic articles', 'وال'],
  ['Devanagari nasals', 'न्त'],
  ['jamo', '\u1100\u1161\u11a8'],
  ['brackets', '条1(a)'],
])('hostile text is analysed in time linear in its length, to bounded terms: %s', (_name, unit) => {
  for (const language of ['ar', 'hi']) {
    const repeated = (bytes: number): string => `a法${unit.repeat(bytes / Buffer.byteLength(unit))}`
    const [short, long] = [repeated(HOSTILE_BYTES / GROWTH), repeated(HOSTILE_BYTES)]
    expect(isLinear(short, long, language)).toBe(true)
    const terms = analyze(long, language)
    expect(terms.length).toBeLessThanOrEqual(HOSTILE_BYTES)
    expect(terms.every((term) => Buffer.byteLength(term) <= 192 && term.isWellFormed())).toBe(true)
  }
})
