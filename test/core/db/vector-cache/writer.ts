import { setTimeout as sleep } from 'node:timers/promises'
import { openVectorCache } from '#core/db/vector-cache/cache.ts'
import { sqliteFault } from '#core/platform/sqlite-fault.ts'
import { ENTRY_DIMENSIONS, ENTRY_SPACE, vectorEntries } from './entries.ts'

/** Writes batches of entries until it is killed or its test ends. Sends the number written: `<path> <first entry>`. */
const [path = '', first = '0'] = process.argv.slice(2)

// The test that started this process was killed itself.
process.once('disconnect', () => process.exit())
let isRefused = false

const cache = openVectorCache(path, {
  space: ENTRY_SPACE,
  dimensions: ENTRY_DIMENSIONS,
  bytesMax: Number.POSITIVE_INFINITY,
  onFault: (error) => {
    if (sqliteFault(error) !== 'busy') throw error
    isRefused = true
  },
})

for (let written = 0; ;) {
  isRefused = false
  cache.write(vectorEntries(Number(first) + written, Number(first) + written + 32))
  if (!isRefused) written += 32
  // The file is free while a build waits for its provider.
  await new Promise((resolve) => process.send?.(written, resolve))
  await sleep(20)
}
