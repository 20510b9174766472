import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { parseDocument, readDocument, recognised } from '#law/readers/read.ts'
import type { MarkupTree } from '#law/readers/tree.ts'
import { createRandom } from './mutations.ts'
import { SAMPLES } from './samples.ts'

/** Published files, and the samples: something struck, hidden or ended is put at random places of their texts. */
const RAW = fileURLToPath(new URL('../../../../shared/data/raw', import.meta.url))
const FILE_BYTES_MAX = 300_000
const MUTATIONS_OF_A_RUN = 150

/** What is put into a text, by format; the word `zqgone` may never be served. */
const PAGE = [
  '<del>zqgone</del>',
  '<s>zqgone</s>',
  '<span hidden>zqgone</span>',
  '<span style="display:none">zqgone</span>',
  '<b aria-hidden="true">zqgone</b>',
]
const PUT: Readonly<Record<string, readonly string[]>> = {
  'akoma-ntoso': [
    '<del>zqgone</del>',
    '<span status="removed">zqgone</span>',
    '<span style="text-decoration:line-through">zqgone</span>',
    '<i class="repealed"><b>zqgone</b></i>',
  ],
  clml: [
    '<Repeal ChangeId="x">zqgone</Repeal>',
    '<Strike>zqgone</Strike>',
    '<Emphasis><Repeal ChangeId="x">zqgone</Repeal></Emphasis>',
  ],
  uslm: [
    '<del>zqgone</del>',
    '<deletedText>zqgone</deletedText>',
    '<inline changed="deleted">zqgone</inline>',
    '<inline status="repealed">zqgone</inline>',
  ],
  html: PAGE,
  'eur-lex': PAGE,
  formex: ['<HT TYPE="STROKE">zqgone</HT>', '<del>zqgone</del>'],
  markdown: ['~~zqgone~~', '<del>zqgone</del>', '<!-- zqgone -->', '<span hidden>zqgone</span>'],
}

function files() {
  const published = existsSync(RAW) ? readdirSync(RAW, { recursive: true, encoding: 'utf8' }).sort() : []
  const small = published.filter(
    (name) => /\.(?:xml|akn|html|md)$/.test(name) && statSync(join(RAW, name)).size < FILE_BYTES_MAX,
  )
  return [
    ...SAMPLES.map(({ name, bytes }) => ({ name, bytes: Buffer.from(bytes) })),
    ...small.map((name) => ({ name, bytes: readFileSync(join(RAW, name)) })),
  ].filter(({ name, bytes }) => PUT[recognised(name, bytes) ?? ''] !== undefined)
}

/** Offsets in the file between two words of a text that its format shows. */
function placesIn({ texts, decoded }: MarkupTree): readonly number[] {
  return texts
    .flatMap(({ value, source: { from, to } }) =>
      to - from === value.length
        ? Array.from(value.matchAll(/(?<=\p{L}) (?=\p{Ll})/gu), ({ index }) => from + index)
        : [],
    )
    .filter((at) => !/^[^<]*<\/(?:style|script|title)>/.test(decoded.slice(at, at + 4_000)))
}

test('nothing that is struck, hidden or removed is served, wherever it is put; a fault names file, place and markup', async () => {
  const { seed, runs } = inject('random')
  const random = createRandom(seed)
  const all = await Promise.all(
    files().map(async (file) => {
      const tree = await parseDocument(file.name, file.bytes)
      return { ...file, decoded: tree.decoded, places: placesIn(tree), format: recognised(file.name, file.bytes) ?? '' }
    }),
  )
  const faults: string[] = []
  for (let round = 0; round < (runs ?? MUTATIONS_OF_A_RUN); round += 1) {
    const file = all[random(all.length)]
    const at = file?.places[random(file.places.length)]
    const puts = PUT[file?.format ?? ''] ?? []
    const put = puts[random(puts.length)]
    if (file === undefined || at === undefined || put === undefined) continue
    const { provisions, fields, coverage } = await readDocument(
      file.name,
      Buffer.from(`${file.decoded.slice(0, at)} ${put}${file.decoded.slice(at)}`),
    )
    const served = provisions.flatMap(({ text, label, heading, path }) => [text, label, heading, ...path]).join('\n')
    if (/zqgone/.test(`${served}${fields.title}`)) faults.push(`${file.name} at ${at}: ${put} is served`)
    if (coverage.uncovered > 0)
      faults.push(`${file.name} at ${at}: ${put} leaves ${coverage.uncovered} characters uncovered`)
  }
  expect(all.length).toBeGreaterThan(5)
  expect(faults).toEqual([])
})
