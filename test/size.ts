import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { optionsOf, runCommandLine } from './support/long-run.ts'
import { renderText, type Section } from '#operator/command-line/sections.ts'

const USAGE = `npm run size -- [--record]

Prints the lines of each room and the words of the documents, of the files that git knows, beside those of the last
release. It is a gauge: nothing fails.

  --record   keeps the numbers as those of the last release
`
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const RECORD = fileURLToPath(new URL('./size.json', import.meta.url))
const ROOMS = ['gateway', 'search-node', 'core', 'law', 'jobs', 'operator', 'clients', 'proto', 'test']
const CODE = /\.(?:ts|mts|mjs|js|sql|lua|css|proto|py)$/
/** The documents of the project, without the law that the demo serves. */
const DOCUMENT = /^(?!.*\/rulebook\/).*\.md$/

const sizesSchema = z.strictObject({ lines: z.record(z.string(), z.int()), words: z.int() })
type Sizes = z.infer<typeof sizesSchema>

/** Each room, and the rooms of the tests. */
function roomsOf(path: string): readonly string[] {
  const [room = '', part = '', ...rest] = path.split('/')
  return room === 'test' ? [room, `test/${rest.length === 0 ? '*' : part}`] : [room]
}

function measure(): Sizes {
  const lines: Record<string, number> = {}
  let words = 0
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0')
  for (const file of files.filter((name) => name !== '' && existsSync(join(ROOT, name)))) {
    const text = (): string => readFileSync(join(ROOT, file), 'utf8')
    if (DOCUMENT.test(file)) words += text().match(/\S+/g)?.length ?? 0
    if (!CODE.test(file)) continue
    const count = text().split('\n').length - 1
    for (const room of roomsOf(file)) lines[room] = (lines[room] ?? 0) + count
  }
  return { lines, words }
}

function sectionOf(now: Sizes, last: Sizes): Section {
  const row = (name: string, size = 0, before = 0): readonly (string | number)[] => [name, size, before, size - before]
  const without = ({ lines }: Sizes): number =>
    ROOMS.reduce((sum, room) => sum + (room === 'test' ? 0 : (lines[room] ?? 0)), 0)
  const known = new Set([...Object.keys(now.lines), ...Object.keys(last.lines)])
  const names = [...ROOMS, ...[...known].filter((name) => name.startsWith('test/')).sort()]
  return {
    title: 'Lines of code',
    head: ['room', 'now', 'last release', 'change'],
    rows: [
      row('all but test', without(now), without(last)),
      ...names.filter((name) => known.has(name)).map((name) => row(name, now.lines[name], last.lines[name])),
      row('words of documents', now.words, last.words),
    ],
  }
}

const flag = { type: 'boolean', default: false } as const
await runCommandLine(
  USAGE,
  (args) => {
    const values = optionsOf(args, { record: flag, help: flag })
    return values.help ? 'help' : values
  },
  async ({ record }) => {
    const now = measure()
    if (record) writeFileSync(RECORD, `${JSON.stringify(now, null, 2)}\n`)
    const last = sizesSchema.parse(JSON.parse(readFileSync(RECORD, 'utf8')))
    process.stdout.write(`${renderText([sectionOf(now, last)])}\n`)
    return true
  },
)
