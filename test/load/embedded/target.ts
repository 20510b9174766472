import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { issueKey } from '#core/credentials/api-key.ts'
import { parsePeppers } from '#core/credentials/settings.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import type { Target } from '../target.ts'
import type { Embedded } from './controls.ts'
import { createTenant } from './tenants.ts'
import { readTruth } from './truth-reader.ts'

/** Services of this run, whose records tell the truth. */
export function embeddedTarget(embedded: Embedded): Target {
  const { installation } = embedded
  const { knowledgeBase, settings } = installation
  const [pepper] = parsePeppers(settings.secrets.KEY_PEPPERS)
  if (pepper === undefined) throw new Error('the run has no pepper')
  return {
    mode: 'embedded',
    knowledgeBase,
    questions: builtInQuestions(),
    baseUrls: async (clock) => (await embedded.gateways(clock)).baseUrls,
    tenantsOf: async (scenario, wanted) => {
      const tenants = []
      for (const one of wanted) tenants.push(await createTenant(installation, scenario, one))
      return tenants
    },
    unknownKey: () => issueKey(settings.keyEnvironment, pepper).secret,
    controls: (clock, onKill) => embedded.controls(clock, onKill),
    clockOffsetMs: (clock) => embedded.clockOffsetMs(clock),
    readTruth: (tenants, lastEndMs) => readTruth(installation, tenants, lastEndMs),
  }
}

const questionSchema = z.object({ text: z.string() })

function builtInQuestions(): readonly string[] {
  const file = builtInCorpus().questionsFile
  if (file === undefined) throw new Error('the built-in corpus has no questions')
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => questionSchema.parse(JSON.parse(line)).text)
}
