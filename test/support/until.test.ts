import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { adjustedNowMs, createLoadAdjustedClock } from './clock.ts'
import { expectEventually, until } from './until.ts'

const STALLED = { stalledAfterMs: 300 }
/** Longer than what the clock counts of a time in which the process does not run, and a pause. */
const PATIENT = { stalledAfterMs: 1_500 }

describe('a wait', () => {
  test('goes on for as long as what it sees changes, whatever time has passed', async () => {
    const beganMs = adjustedNowMs()
    let steps = 0
    const found = await until(
      'the work is done',
      (seen) => {
        seen(steps++)
        return adjustedNowMs() - beganMs > 1.2 * PATIENT.stalledAfterMs && 'done'
      },
      PATIENT,
    )
    expect(found).toBe('done')
  })

  test('fails once nothing has changed for too long, and says what was seen last', async () => {
    const stalled = until(
      'the work is done',
      (seen) => {
        seen({ entries: 3 })
        return false
      },
      STALLED,
    )
    await expect(stalled).rejects.toThrow('no progress for 300 ms: the work is done; seen last: { entries: 3 }')
  })

  test('fails although its probe never settles', async () => {
    const hanging = until('an answer comes', () => new Promise<undefined>(() => undefined), STALLED)
    await expect(hanging).rejects.toThrow('no progress for 300 ms: an answer comes; seen last: nothing')
  })

  test('fails at once, with the last words of the process, when a process that it needs has ended', async () => {
    const child = spawn('/bin/sh', ['-c', 'exit 3'])
    const ended = once(child, 'exit').then(([code]: unknown[]): never => {
      throw new Error(`ended with ${String(code)}`)
    })
    await expect(until('it answers', () => false, { processes: [{ ended }] })).rejects.toThrow('ended with 3')
  })

  test('fails at once when its probe rejects', async () => {
    const failing = until('it answers', () => Promise.reject(new Error('refused')))
    await expect(failing).rejects.toThrow('refused')
  })
})

describe('an expectation that comes true later', () => {
  test('is repeated until it holds, also after a read that rejects', async () => {
    let reads = 0
    await expectEventually(
      () => {
        reads += 1
        if (reads === 1) throw new Error('not there yet')
        return { reads }
      },
      { reads: 3 },
    )
    expect(reads).toBe(3)
  })

  test('fails with the difference between what was read last and what is expected', async () => {
    await expect(expectEventually(() => 503, 200, STALLED)).rejects.toThrow('expected 503 to deeply equal 200')
  })
})

describe('the load-adjusted clock', () => {
  test('is real time while there are no more tasks than cores', () => {
    const advance = createLoadAdjustedClock(2, 1_000)
    expect([advance(1_000, 0), advance(1_250, 0), advance(1_500, 1.5), advance(1_750, 2)]).toEqual([0, 250, 500, 750])
  })

  test('runs slower in proportion to the tasks that each core has', () => {
    const advance = createLoadAdjustedClock(2, 0)
    expect([advance(500, 10), advance(1_000, 20), advance(1_500, 0)]).toEqual([100, 150, 650])
  })

  test('does not count the time in which its own process did not run', () => {
    expect(createLoadAdjustedClock(2, 0)(60_000, 1)).toBe(1_000)
  })
})
