import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { seededRandom } from '#test/support/passages.ts'

const FILES = 8
const RECORDS_PER_DOCUMENT = 100
const PROVISIONS_PER_DOCUMENT = 10
const TEXT_CHARACTERS = { min: 1_000, max: 7_000 } as const
const POOL_CHARACTERS = 1_000_000
const WORDS =
  'the keeper of a hive must register it with authority before first may and shall notify any transfer within days'
const MS_PER_DAY = 86_400_000

const MAPPING = {
  format: 'jsonl',
  revises: 'provision',
  fields: {
    document_key: '{metadata.act}',
    title: 'Act {metadata.act}',
    authority: 'Parliament',
    canonical_url: 'https://law.example/{metadata.act}',
    published_at: '{metadata.effective}',
    effective_at: '{metadata.effective}',
    citation_label: 'Act {metadata.act} s. {metadata.section}',
    language: '{metadata.lang}',
    jurisdiction: 'GB',
    subjects: '{metadata.subject}',
    verification_status: 'source-declared',
  },
} as const

/**
 * Writes a JSONL corpus of a size in parts, and its mapping, unless they are there. Every record is a revision of its
 * own; its end follows from the next.
 */
export async function makeCorpus(dataDir: string, megabytes: number) {
  const folder = join(dataDir, `import-${megabytes}`)
  const mapping = join(dataDir, 'import-mapping.json')
  await mkdir(folder, { recursive: true })
  await writeFile(mapping, JSON.stringify(MAPPING))
  const whole = join(folder, 'complete')
  if (!existsSync(whole)) {
    const pool = textPool()
    let record = 0
    for (let file = 0; file < FILES; file += 1)
      record += await writePart(join(folder, `corpus-${file}.jsonl`), (megabytes * 1_000_000) / FILES, record, pool)
    await writeFile(whole, '')
  }
  return { folder, mapping }
}

async function writePart(path: string, bytesMax: number, firstRecord: number, pool: string): Promise<number> {
  const out = createWriteStream(path)
  let [bytes, records] = [0, 0]
  while (bytes < bytesMax || (firstRecord + records) % RECORDS_PER_DOCUMENT !== 0) {
    const line = `${JSON.stringify(recordAt(firstRecord + records, pool))}\n`
    bytes += line.length
    records += 1
    if (!out.write(line)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  return records
}

function recordAt(number: number, pool: string): object {
  const random = seededRandom(number)
  const document = Math.floor(number / RECORDS_PER_DOCUMENT)
  const position = number % RECORDS_PER_DOCUMENT
  const length = TEXT_CHARACTERS.min + Math.floor(random() * (TEXT_CHARACTERS.max - TEXT_CHARACTERS.min))
  const from = Math.floor(random() * (pool.length - length))
  return {
    _id: `r${number}`,
    title: `Section ${position % PROVISIONS_PER_DOCUMENT}`,
    text: `${number}. ${pool.slice(from, from + length)}`,
    metadata: {
      act: `act-${document}`,
      section: String(position % PROVISIONS_PER_DOCUMENT),
      effective: new Date(Date.UTC(1990, 0, 1) + position * 97 * MS_PER_DAY).toISOString().slice(0, 10),
      lang: ['en', 'de', 'fr'][document % 3],
      subject: `subject-${document % 40}`,
    },
  }
}

function textPool(): string {
  const random = seededRandom(1)
  const words = WORDS.split(' ')
  let pool = ''
  while (pool.length < POOL_CHARACTERS)
    pool += `${words[Math.floor(random() * words.length)] ?? ''}${random() < 0.07 ? '.\n\n' : ' '}`
  return pool
}
