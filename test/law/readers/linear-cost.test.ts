import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const MEMORY_MB_MAX = 512
/** What the code and the buffers of Node take beside its heap. */
const HEAP_MB_MAX = 384
/** A read that does not end is ended by the kernel. */
const CPU_SECONDS_MAX = 300

test('whatever a file repeats is read in proportion, at most 5 s a MB and 512 MB, or refused', () => {
  const program = [`--max-old-space-size=${HEAP_MB_MAX}`, fileURLToPath(new URL('grown-reads.ts', import.meta.url))]
  const limited = ['-c', `ulimit -t ${CPU_SECONDS_MAX} && exec "$0" "$@"`, process.execPath, ...program]
  const { files, slow, megabytes } = JSON.parse(execFileSync('/bin/sh', limited, { encoding: 'utf8' }))
  expect(files).toBeGreaterThan(100)
  expect(slow).toEqual([])
  expect(megabytes).toBeLessThan(MEMORY_MB_MAX)
})
