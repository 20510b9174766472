import { activateAll } from './actives.ts'
import { caseSeed, rowOf, runCase, type ActiveLaw, type CaseResult } from './cases.ts'
import { runCommandLine, withOwnDatabase } from '#test/support/long-run.ts'
import { USAGE, lawFlags, type LawFlags } from './flags.ts'
import { runInnocent } from './innocent.ts'
import { openLaboratory, type Laboratory } from './laboratory.ts'
import { ownCorpora, realCorpora } from './sources.ts'

const PROGRESS_EVERY = 100

/** @returns whether no guarantee was broken. */
async function runFor(flags: LawFlags): Promise<boolean> {
  return withOwnDatabase('law', async (database) => {
    await using ending = new AsyncDisposableStack()
    const laboratory = ending.adopt(await openLaboratory(database), (it) => it.close())
    const actives = await activateAll(laboratory, [...ownCorpora(), ...realCorpora()])
    return flags.innocent ? await runHonest(laboratory, actives, flags) : await runCases(laboratory, actives, flags)
  })
}

/** @returns whether nothing of the honest work was refused, or listed as what it is not. */
async function runHonest(laboratory: Laboratory, actives: readonly ActiveLaw[], { seed }: LawFlags): Promise<boolean> {
  const results = await runInnocent(laboratory, actives, { seed, draws: 2 })
  for (const [{ name }, cases] of Map.groupBy(results, ({ editor }) => editor)) {
    const refused = cases.filter((each) => each.refused !== undefined)
    const unexpected = cases.filter((each) => each.unexpected.length > 0)
    process.stdout.write(`${name}: ${cases.length} cases, ${refused.length} refused, ${unexpected.length} unexpected\n`)
    for (const { corpus, refused: why, unexpected: kinds } of [...refused, ...unexpected].slice(0, 3))
      process.stdout.write(`  ${corpus}: ${why?.slice(-400) ?? kinds.join(', ')}\n`)
  }
  return results.every(({ refused, unexpected }) => refused === undefined && unexpected.length === 0)
}

async function runCases(
  laboratory: Laboratory,
  actives: readonly ActiveLaw[],
  { seed, minutes, only, row, first }: LawFlags,
): Promise<boolean> {
  process.stdout.write(only === undefined ? `Seed ${seed}, ${minutes} minutes.\n` : `Case ${only}.\n`)
  const results: CaseResult[] = []
  const cpu = process.cpuUsage()
  const beganMs = performance.now()
  const endMs = beganMs + minutes * 60_000
  for (let number = 0; only === undefined ? performance.now() < endMs : number < 1; number++) {
    const drawn = only ?? caseSeed(seed, number)
    if (row !== undefined && rowOf(drawn) !== row) continue
    const result = await runCase(laboratory, actives, drawn)
    results.push(result)
    if (only !== undefined || result.violations.length > 0) process.stdout.write(inWords(result))
    if (first && result.violations.length > 0) {
      process.stdout.write(
        `found in ${((performance.now() - beganMs) / 1_000).toFixed(1)} s, by case ${results.length}\n`,
      )
      break
    }
    if (results.length % PROGRESS_EVERY === 0) process.stdout.write(`${results.length} cases so far\n`)
  }
  const { user, system } = process.cpuUsage(cpu)
  const seconds = (user + system) / 1e6 / results.length
  process.stdout.write(`${tableOf(results)}\n${seconds.toFixed(2)} CPU seconds a case\n`)
  return results.every(({ violations }) => violations.length === 0)
}

function inWords({ seed, corpus, alteration, what, refused, violations }: CaseResult): string {
  const lines = [
    `--case ${seed} (${corpus}): ${alteration.row}: ${alteration.name}: ${what}`,
    ...(refused === undefined
      ? []
      : [`  refused: ${refused.length > 300 ? `${refused.slice(0, 20)} … ${refused.slice(-280)}` : refused}`]),
    ...violations.slice(0, 10).map(({ rule, what: found }) => `  VIOLATION ${rule}: ${found}`),
  ]
  return `${lines.join('\n')}\n`
}

/** One line for each kind of fault: cases, refused ones, named ones, violations. */
function tableOf(results: readonly CaseResult[]): string {
  const rows = [...Map.groupBy(results, ({ alteration }) => alteration.row)].map(([row, cases]) => countsOf(row, cases))
  return [...rows, countsOf('all', results)].join('\n')
}

function countsOf(name: string, cases: readonly CaseResult[]): string {
  const broken = cases.filter(({ violations }) => violations.length > 0).length
  const held = cases.filter(({ violations }) => violations.length === 0)
  const refused = held.filter((each) => each.refused !== undefined).length
  return `${name}: ${cases.length} cases, ${refused} refused, ${held.length - refused} named, ${broken} violations`
}

await runCommandLine(USAGE, lawFlags, runFor)
