import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { createContext, runInContext, type Context } from 'node:vm'

/**
 * An object behind native code is destroyed in the turn after its collection; what it held is collected in the next
 * round. One round leaves the mapping of a graph.
 */
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
