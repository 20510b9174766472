import { existsSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { inspectionOf, type Inspection } from '#law/readers/inspect.ts'
import { readDocument } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import { SAMPLES } from './samples.ts'
import { differences, parseSummaries, summaryOf, type Summary } from './summary.ts'

const RAW = fileURLToPath(new URL('../../../../shared/data/raw', import.meta.url))
const present = existsSync(RAW)
const STAND_IN = present ? '' : ' (../shared/data/raw is absent: the samples of the conformance suite stand in)'

const manifestSchema = z.array(z.looseObject({ file: z.string(), section_count: z.int().nullable() }))
type Listed = z.infer<typeof manifestSchema>[number]

/** Files where no kind of provision has the count that the manifest states, and why. */
const EXPLAINED: Readonly<Record<string, string>> = {
  'web/BILLS-119hr9025ih.html': 'the manifest counts headings of subsections by their class; the bill has one section',
  'web/cisa_bod-18-01.md': 'three lines with number signs stand in HTML blocks and are no headings',
}
/** A scan without text. */
const REFUSED: ReadonlySet<string> = new Set(['pdf/commerce_open-data-memo_SCANNED.pdf'])

/** What each file gave when a person last looked at it; a file of the samples has no folder. */
const KEPT = fileURLToPath(new URL('raw-files.jsonl', import.meta.url))
const UPDATE = 'RAW_FILES=update npm test -- raw-files'

let listed: readonly Listed[]
const found = new Map<string, Inspection>()
const summaries: Summary[] = []

beforeAll(async () => {
  const samples = SAMPLES.map(({ name, kinds }) => ({ file: name, section_count: Object.values(kinds)[0] ?? 0 }))
  listed = present ? manifestSchema.parse(JSON.parse(readFileSync(join(RAW, 'manifest.json'), 'utf8'))) : samples
  for (const { name, bytes } of SAMPLES) await summarise(name, bytes, !present)
  if (present) for (const { file } of listed) await summarise(file, await readFile(join(RAW, file)), true)
})

async function summarise(file: string, bytes: Uint8Array, isListed: boolean): Promise<void> {
  const read = await readDocument(file, bytes).catch((error: unknown) => {
    if (error instanceof UnreadableFile) return undefined
    throw error
  })
  summaries.push(summaryOf(file, bytes, read))
  if (isListed && read !== undefined) found.set(file, inspectionOf(file, read))
}

describe(`published files of law${STAND_IN}`, () => {
  test('have as many sections as their publishers wrote, but for those explained one by one', () => {
    const counted = listed.filter(({ section_count: count }) => (count ?? 0) > 0)
    const differing = counted.filter(
      ({ file, section_count: count }) => !Object.values(found.get(file)?.by_kind ?? {}).includes(count ?? 0),
    )
    expect(counted.length).toBeGreaterThan(10)
    expect(differing.map(({ file }) => file).filter((file) => EXPLAINED[file] === undefined)).toEqual([])
  })

  test('are accounted for in almost every character, and a scan is refused', () => {
    const short = listed
      .map(({ file }) => ({ file, coverage: found.get(file)?.coverage ?? 0 }))
      .filter(({ file, coverage }) => coverage < READER_BOUNDS.coverageMin && !REFUSED.has(file))
    expect(short).toEqual([])
  })

  test('give the labels, anchors, dates and counts that were looked at; what differs is named', async () => {
    if (process.env['RAW_FILES'] === 'update')
      await writeFile(
        KEPT,
        summaries.map((each) => `${JSON.stringify(each)}\n`),
      )
    const kept = parseSummaries(await readFile(KEPT, 'utf8'))
    expect(differences(kept, summaries), `Read each difference. Where it is right, keep it: ${UPDATE}`).toEqual([])
    const fields = kept.map((each) => ({ ...each, effective_from: '1999-01-01' }))
    expect(differences(fields, summaries)).toContain('Akoma Ntoso: effective_from was "1999-01-01", is "2003-02-01"')
    const known = new Set(kept.map(({ file, bytes_sha256: bytes }) => `${file} ${bytes}`))
    const others = summaries.filter(({ file, bytes_sha256: bytes }) => !known.has(`${file} ${bytes}`))
    if (others.length > 0)
      console.warn(`not compared, because ${KEPT} lacks them: ${others.map(({ file }) => file).join(', ')}`)
  })
})
