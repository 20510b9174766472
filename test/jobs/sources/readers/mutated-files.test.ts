import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readDocument } from '#jobs/sources/readers/read.ts'
import { UnreadableFile } from '#jobs/sources/readers/tree.ts'
import { MUTATIONS, mutated } from './mutations.ts'
import { SAMPLES } from './samples.ts'

const RAW = fileURLToPath(new URL('../../../../../shared/data/raw', import.meta.url))
/** Larger files take longer than a test may; `read` is the same for them. */
const BYTES_MAX = 60_000
const CPU_MS_MAX = 5_000
const SEEDS = [1, 2]

/** Small published files, where they are beside the checkout. */
const published = existsSync(RAW)
  ? readdirSync(RAW, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:xml|html|md|pdf|akn)$/.test(file) && statSync(join(RAW, file)).size <= BYTES_MAX)
      .map((file) => ({ name: file, bytes: readFileSync(join(RAW, file)) }))
  : []

test.each(MUTATIONS)(
  'a file that is %s is read, or refused with a sentence, within the time of a file',
  async (mutation) => {
    for (const { name, bytes } of [...SAMPLES, ...published]) {
      for (const seed of SEEDS) {
        const before = process.cpuUsage()
        const outcome = await readDocument(name, mutated(bytes, mutation, seed)).then(
          ({ coverage }) => (coverage.uncovered <= coverage.characters ? 'read' : 'counted wrong'),
          (error: unknown) => (error instanceof UnreadableFile && error.message !== '' ? 'refused' : error),
        )
        const { user, system } = process.cpuUsage(before)
        expect(['read', 'refused'], `${name}, seed ${seed}, ${mutation}: ${String(outcome)}`).toContain(outcome)
        expect((user + system) / 1_000, `${name}, seed ${seed}, ${mutation}`).toBeLessThan(CPU_MS_MAX)
      }
    }
  },
)
