import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { createContext, runInContext } from 'node:vm'
import type { Context } from 'node:vm'

/** An object that native code holds is destroyed in the turn after its collection, and what it held is found then. */
const ROUNDS = 2

/** V8 gives `gc` to contexts that are created after the flag was set. */
let context: Context | undefined

/**
 * Forces garbage collections on this thread. usearch unmaps a file only when its object is collected, and V8 does not
 * collect small objects soon, however large the mapping or the shared memory behind them.
 */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  context ??= createContext()
  await nextTurn()
  for (let round = 0; round < ROUNDS; round++) {
    runInContext('gc()', context)
    await nextTurn()
  }
}
