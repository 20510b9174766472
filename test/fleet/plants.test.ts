import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PLANTS, changed } from './plants.ts'

test.each(Object.entries(PLANTS))('"%s" changes the product that there is', (_, changes) => {
  for (const change of changes) {
    const source = readFileSync(join(import.meta.dirname, '../..', change[0]), 'utf8')
    expect(changed(source, [change])).not.toBe(source)
  }
})
