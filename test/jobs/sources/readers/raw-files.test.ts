import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { READER_BOUNDS } from '#jobs/sources/readers/bounds.ts'
import { inspectFile } from '#jobs/sources/readers/inspect.ts'
import type { Inspection } from '#jobs/sources/readers/inspect.ts'
import { SAMPLES } from './samples.ts'

const RAW = fileURLToPath(new URL('../../../../../shared/data/raw', import.meta.url))
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

let folder: string
let listed: readonly Listed[]
const found = new Map<string, Inspection>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'raw-'))
  for (const { format, bytes } of SAMPLES) await writeFile(join(folder, format), bytes)
  const samples = SAMPLES.map(({ format, kinds }) => ({ file: format, section_count: Object.values(kinds)[0] ?? 0 }))
  listed = present ? manifestSchema.parse(JSON.parse(readFileSync(join(RAW, 'manifest.json'), 'utf8'))) : samples
  for (const { file } of listed) found.set(file, await inspectFile(join(present ? RAW : folder, file)))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
})

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
})
