import { withOwnEncoder } from '#operator/command-line/own-encoder.ts'
import { renderPage } from '#jobs/evaluation/page/page.ts'
import { figuresOf } from '#jobs/evaluation/report.ts'
import { evaluateDataSet } from './evaluation.ts'
import { evaluateFlags } from './flags.ts'
import { assertWritable, runEvaluation } from './program.ts'

await runEvaluation(async (args, output, signal) => {
  const flags = evaluateFlags(args)
  await assertWritable([flags.json, flags.html])
  const { report, table } = await withOwnEncoder(flags, signal, (own, either) => evaluateDataSet(own, output, either))
  return {
    table,
    files: [
      [flags.json, `${JSON.stringify(figuresOf(report), null, 2)}\n`],
      [flags.html, renderPage(report)],
    ],
  }
})
