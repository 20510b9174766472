import { parseArgs } from 'node:util'
import { areTextsPresent, CORPORA_FOLDER } from './judgements.ts'
import { measureClasses } from './classes.ts'
import { measureCitations, totalOf, type Score } from './score.ts'

const USAGE = `npm run measure:citations -- [--part tuning|reporting] [--data FOLDER]

Reads the judged sentences of test/quality/citations in the corpora, and prints precision and recall of the references
that the parser finds in them, and every miss; then those of the written cases by class, and the passages of a wrong act
that they would serve. Misses of the part "reporting" are for reports, not for tuning.
`

function line(name: string, sentences: number, { right, found, expected }: Score): string {
  const share = (of: number): string => (of === 0 ? '–' : (right / of).toFixed(3))
  const counts = `${String(sentences).padStart(4)} sentences, ${String(expected).padStart(4)} references`
  return `${name.padEnd(12)} ${counts}: precision ${share(found)}, recall ${share(expected)}\n`
}

function main(): void {
  const { values } = parseArgs({
    options: { part: { type: 'string' }, data: { type: 'string' }, help: { type: 'boolean' } },
  })
  const part = (['tuning', 'reporting'] as const).find((name) => name === values.part)
  const folder = values.data ?? CORPORA_FOLDER
  if (values.help === true || (values.part !== undefined && part === undefined)) {
    process.stdout.write(USAGE)
    process.exitCode = values.help === true ? 0 : 2
    return
  }
  if (!areTextsPresent(folder)) {
    process.stderr.write(`${folder} does not hold the corpora: name their folder with --data. Nothing was measured.\n`)
    process.exitCode = 2
    return
  }
  const measured = measureCitations(folder, part)
  for (const { corpus, sentences, score } of measured) process.stdout.write(line(corpus, sentences, score))
  const total = totalOf(measured)
  const all = measured.reduce((sum, { sentences }) => sum + sentences, 0)
  process.stdout.write(line('all', all, total))
  const classes = measureClasses()
  for (const { name, cases, ...score } of classes)
    process.stdout.write(line(name, cases, { ...score, wrong: [], missed: [] }).replace('sentences', 'questions'))
  const wrongActs = classes.flatMap((each) => each.wrongActs)
  process.stdout.write(`served passages of a wrong act: ${wrongActs.length}\n`)
  for (const query of wrongActs) process.stdout.write(`  wrong act ${query}\n`)
  for (const wrong of total.wrong) process.stdout.write(`  wrong  ${wrong}\n`)
  for (const missed of total.missed) process.stdout.write(`  missed ${missed}\n`)
}

main()
