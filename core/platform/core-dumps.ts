import { readFileSync } from 'node:fs'

/**
 * Whether the limit of this process leaves no core dump, which would hold its keys and queries. True where the system
 * does not say.
 */
export function limitsCoreDumps(): boolean {
  try {
    const limit = /^Max core file size +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === '0'
  } catch {
    return true
  }
}
