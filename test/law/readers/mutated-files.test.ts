import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { z } from 'zod'
import { COMPILE_CACHE } from '#test/support/processes.ts'
import { MUTATIONS } from './mutations.ts'

const PROGRAM = fileURLToPath(new URL('mutated-reads.ts', import.meta.url))
const CPU_MS_MAX = 5_000
const MEMORY_MB_MAX = 512
/** What the code and the buffers of Node take beside its heap. */
const HEAP_MB_MAX = 384
/** A read of a process that gets no processor takes longer; one that hangs takes processor time. */
const LOOK_EVERY_MS = 1_000

const lineSchema = z.object({
  file: z.string(),
  mutation: z.enum(MUTATIONS),
  seed: z.int(),
  outcome: z.string().optional(),
  cpuMs: z.number().optional(),
})

/** Reads damaged files in a process with a bounded heap, and ends it where one read takes too much processor time. */
async function readDamaged(firstSeed: number, seeds: number) {
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB_MAX}`, PROGRAM, `${firstSeed}`, `${seeds}`], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // A fault says what went wrong, by file, seed and mutation.
  const [faults, errors]: [string[], string[]] = [[], []]
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text))
  let [reads, memoryMb, begun, cpuAtBegin] = [0, 0, 'no file', 0]
  const look = setInterval(() => {
    const used = usageOf(child.pid ?? 0)
    memoryMb = Math.max(memoryMb, used?.memoryMb ?? 0)
    if (used === undefined || used.cpuMs - cpuAtBegin < CPU_MS_MAX * 2) return
    faults.push(`${begun}: does not end`)
    child.kill('SIGKILL')
  }, LOOK_EVERY_MS)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  for await (const line of createInterface(child.stdout)) {
    const { file, seed, mutation, outcome, cpuMs = 0 } = lineSchema.parse(JSON.parse(line))
    begun = `${file}, seed ${seed}, ${mutation}`
    const used = usageOf(child.pid ?? 0)
    cpuAtBegin = used?.cpuMs ?? cpuAtBegin
    memoryMb = Math.max(memoryMb, used?.memoryMb ?? 0)
    if (outcome === undefined) continue
    reads += 1
    if (outcome !== 'read' && outcome !== 'refused') faults.push(`${begun}: ${outcome}`)
    if (cpuMs > CPU_MS_MAX) faults.push(`${begun}: ${cpuMs} ms of processor time`)
  }
  const code = await ended
  clearInterval(look)
  if (code !== 0) faults.push(`${begun}: the process ended with ${code}: ${errors.join('').slice(0, 500)}`)
  return { reads, faults, memoryMb }
}

/** Largest resident memory of a process and its processor time; undefined: it has ended. */
function usageOf(pid: number): { readonly memoryMb: number; readonly cpuMs: number } | undefined {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // In hundredths of a second.
    return { memoryMb: Number(kilobytes) / 1_024, cpuMs: (Number(fields[11]) + Number(fields[12])) * 10 }
  } catch {
    return undefined
  }
}

test('a damaged file is read, or refused with a sentence, within 5 s and 512 MB; a fault names file, seed and mutation', async () => {
  const { seed, runs } = inject('random')
  const { reads, faults, memoryMb } = await readDamaged(seed, runs ?? 2)
  expect(faults).toEqual([])
  expect(reads).toBeGreaterThan(MUTATIONS.length)
  expect(memoryMb).toBeLessThan(MEMORY_MB_MAX)
})
