import { posix } from 'node:path'

export interface SourceFile {
  /** Relative to the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

export interface Rule {
  /** What holds for every file of the project. */
  readonly guarantee: string
  /** One sentence per violation; empty if the file keeps the rule. */
  readonly breaches: (file: SourceFile) => readonly string[]
  /** Path and text of files that must break the rule. */
  readonly bad: readonly (readonly [path: string, text: string])[]
}

const IMPORT = /\b(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g

/** The project files that a file imports, as paths from the root; packages are left out. */
export function importsOf(file: SourceFile): readonly string[] {
  return [...file.text.matchAll(IMPORT)].flatMap(([, from, called]) => {
    const specifier = from ?? called ?? ''
    if (specifier.startsWith('#')) return [specifier.slice(1)]
    return specifier.startsWith('.') ? [posix.join(posix.dirname(file.path), specifier)] : []
  })
}
