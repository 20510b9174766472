import { withOwnEncoder } from '#operator/command-line/own-encoder.ts'
import { assertWritable, runEvaluation } from '#operator/evaluate/program.ts'
import { evaluateNatural } from './evaluation.ts'
import { figuresOf } from './figures.ts'
import { naturalFlags } from './flags.ts'
import { detailLines } from './judge.ts'
import { renderNaturalPage } from './page.ts'
import { renderTable } from './table.ts'

await runEvaluation(async (args, output, signal) => {
  const flags = naturalFlags(args)
  await assertWritable([flags.json, flags.html, flags.details])
  const asked = await withOwnEncoder(flags, signal, (own, either) => evaluateNatural(own, output, either))
  const figures = figuresOf(asked)
  return {
    table: renderTable(figures),
    files: [
      [flags.json, `${JSON.stringify(figures, null, 2)}\n`],
      [flags.html, renderNaturalPage(figures)],
      [flags.details, detailLines(asked.outcomes)],
    ],
  }
})
