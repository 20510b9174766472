import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface Page {
  /** From the root of the repository. */
  readonly path: string
  readonly text: string
}

/** What git ignores. */
export const OUTSIDE: readonly string[] = ['**/node_modules', '.data', 'sources', 'keys', 'models']

/** Every document of the project; the demo's rulebook is a corpus. */
export const PAGES: readonly Page[] = globSync('**/*.md', { cwd: ROOT, exclude: [...OUTSIDE, '**/rulebook'] })
  .toSorted()
  .map(pageAt)

export function pageAt(path: string): Page {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') }
}

/** Targets of the links of a page, without those to other sites: paths from the root, with their fragments. */
export function linksOf({ path, text }: Page): readonly { readonly path: string; readonly fragment: string }[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)]
    .map(([, inline, referred]) => inline ?? referred ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', fragment = ''] = target.split('#')
      return { path: file === '' ? path : posix.normalize(posix.join(dirname(path), file)), fragment }
    })
}

/** The fragments under which a page's headings are reached, as GitHub makes them. */
export function fragmentsOf({ text }: Page): readonly string[] {
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
