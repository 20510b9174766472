import { testPassage } from '#test/support/passages.ts'
import { runEmbedStage } from './embed-stage.ts'

/** Runs the embed stage, one batch after the other: `<work folder> <number of passages> <base URL> [<cache file>]`. */
const [workFolder = '', passages = '0', baseUrl = '', path] = process.argv.slice(2)

await runEmbedStage({
  workFolder,
  passages: Array.from({ length: Number(passages) }, (_, n) => testPassage(n)),
  baseUrl,
  concurrency: 1,
  cache: path === undefined ? undefined : { path, bytesMax: Number.POSITIVE_INFINITY },
})
