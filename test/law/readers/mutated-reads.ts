import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readDocument } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import { MUTATIONS, mutated, type Mutation } from './mutations.ts'
import { SAMPLES } from './samples.ts'

/**
 * Reads damaged files and says what becomes of each, one line of JSON before and one after a read: a parent sees where
 * it hangs. Usage: `node mutated-reads.ts <first seed> <seeds>`.
 */
const RAW = fileURLToPath(new URL('../../../../shared/data/raw', import.meta.url))
/** Of larger files one is read for each seed, with one mutation. */
const SMALL_BYTES_MAX = 60_000

/** A file, its damage, and the seed of the damage. */
export interface Damage {
  readonly file: string
  readonly mutation: Mutation
  readonly seed: number
}

/** What a line says: a read begins, or is over. */
export interface ReadLine extends Damage {
  readonly outcome?: string
  readonly cpuMs?: number
}

const published = existsSync(RAW)
  ? readdirSync(RAW, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:xml|html|md|pdf|akn)$/.test(file))
      .sort()
  : []
const isSmall = (file: string): boolean => statSync(join(RAW, file)).size <= SMALL_BYTES_MAX

function bytesOf(file: string): Uint8Array {
  return SAMPLES.find(({ name }) => name === file)?.bytes ?? readFileSync(join(RAW, file))
}

function* damages(seed: number): Generator<Damage> {
  const large = published.filter((file) => !isSmall(file))
  for (const mutation of MUTATIONS)
    for (const file of [...SAMPLES.map(({ name }) => name), ...published.filter(isSmall)])
      yield { file, mutation, seed }
  const mutation = MUTATIONS[seed % MUTATIONS.length]
  const file = large[seed % large.length]
  if (mutation !== undefined && file !== undefined) yield { file, mutation, seed }
}

async function outcomeOf({ file, mutation, seed }: Damage): Promise<string> {
  try {
    const { coverage } = await readDocument(file, mutated(bytesOf(file), mutation, seed))
    return coverage.uncovered <= coverage.characters ? 'read' : 'counted wrong'
  } catch (error) {
    return error instanceof UnreadableFile && error.message !== '' ? 'refused' : String(error)
  }
}

function say(line: ReadLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function readDamaged(damage: Damage): Promise<void> {
  say(damage)
  const before = process.cpuUsage()
  const outcome = await outcomeOf(damage)
  const { user, system } = process.cpuUsage(before)
  say({ ...damage, outcome, cpuMs: (user + system) / 1_000 })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [first = 0, seeds = 1] = process.argv.slice(2).map(Number)
  for (let seed = first; seed < first + seeds; seed += 1) for (const damage of damages(seed)) await readDamaged(damage)
}
