import { describe, expect, test } from 'vitest'
import { explainExit, defaultBuildHeapMb } from '#jobs/version-build/unexpected-exit.ts'

const GIB = 1_073_741_824
const ended = { code: null, signal: null, standardError: '', heapMb: 512, kernelKills: undefined } as const
const V8 = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n 1: 0x931db0'

describe('a process that died', () => {
  test('ran out of memory where V8 says so as it aborts, whether a shell is between or not', () => {
    const outOfMemory = { outOfMemory: true, reason: 'its process reached its heap limit of 512 MB' }
    expect(explainExit({ ...ended, signal: 'SIGABRT', standardError: V8 })).toEqual(outOfMemory)
    expect(explainExit({ ...ended, code: 134, standardError: V8 })).toEqual(outOfMemory)
  })

  test('did not run out of memory where it aborted for another reason, or only logged the words', () => {
    expect(explainExit({ ...ended, signal: 'SIGABRT', standardError: 'assertion failed' })).toEqual({
      outOfMemory: false,
      reason: 'its process ended with SIGABRT',
    })
    expect(explainExit({ ...ended, code: 1, standardError: V8 })).toEqual({
      outOfMemory: false,
      reason: 'its process ended with exit code 1',
    })
  })

  test('counts as out of memory after a SIGKILL, and the kernel is named where it counted one', () => {
    expect(explainExit({ ...ended, signal: 'SIGKILL', kernelKills: 1 })).toEqual({
      outOfMemory: true,
      reason: 'the kernel ended its process for lack of memory',
    })
    expect(explainExit({ ...ended, signal: 'SIGKILL' })).toEqual({
      outOfMemory: true,
      reason: 'its process was ended with SIGKILL, as the kernel does for lack of memory',
    })
  })

  test('counts after a SIGKILL that the kernel did not count too, but the kernel is not named', () => {
    expect(explainExit({ ...ended, signal: 'SIGKILL', kernelKills: 0 })).toEqual({
      outOfMemory: true,
      reason: 'its process was killed from outside (SIGKILL), most often for lack of memory',
    })
  })
})

test('builds side by side share half the memory of machine or container, within bounds', () => {
  expect(defaultBuildHeapMb(1, 8 * GIB, 0)).toBe(4_096)
  expect(defaultBuildHeapMb(4, 8 * GIB, 0)).toBe(1_024)
  expect(defaultBuildHeapMb(1, 64 * GIB, 2 * GIB)).toBe(1_024)
  // Without a limit, cgroup 1 states a number beyond any machine.
  expect(defaultBuildHeapMb(1, 8 * GIB, 2 ** 64)).toBe(4_096)
  expect(defaultBuildHeapMb(16, GIB, 0)).toBe(512)
  expect(defaultBuildHeapMb(1, 1_024 * GIB, 0)).toBe(16_384)
})
