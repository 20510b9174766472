import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const ROOT = join(import.meta.dirname, '../..')
export const RELEASE = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))).version
/** The commit that runs, as the image or a checkout says; empty where neither does. */
export const COMMIT = commitOf(ROOT)

function commitOf(root: string): string {
  const read = (...path: readonly string[]): string => {
    try {
      return readFileSync(join(root, ...path), 'utf8').trim()
    } catch {
      return ''
    }
  }
  const head = read('.git', 'HEAD')
  return read('COMMIT') || (head.startsWith('ref: ') ? read('.git', head.slice(5)) : head)
}
