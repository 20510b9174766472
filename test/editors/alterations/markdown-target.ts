import type { Draw } from '../draw.ts'
import type { Sources } from '../sources.ts'
import { withFile } from './alteration.ts'
import type { Alteration, Altered, Expectation } from './alteration.ts'
import { parseMarkdown, writeMarkdown } from './markdown-file.ts'
import type { MarkdownFile } from './markdown-file.ts'

export interface Target {
  readonly name: string
  readonly file: MarkdownFile
  /** A provision of the file. */
  readonly at: number
  readonly provision: string
}

/** An alteration of one file of Markdown, at one of its provisions. */
export function ofMarkdown(
  row: string,
  name: string,
  alter: (target: Target, draw: Draw, sources: Sources) => Altered | undefined,
): Alteration {
  return {
    name,
    row,
    alter(sources, draw) {
      if (sources.format !== 'markdown') return undefined
      const [path, text] = draw.pick([...sources.files])
      const file = parseMarkdown(text)
      const at = draw.below(file.provisions.length)
      const provision = file.provisions[at]
      return provision === undefined ? undefined : alter({ name: path, file, at, provision }, draw, sources)
    },
  }
}

export function rewritten(
  sources: Sources,
  { name }: Target,
  file: MarkdownFile,
  what: string,
  expect: readonly Expectation[] = [],
): Altered {
  return { sources: withFile(sources, name, writeMarkdown(file)), what: `${name}: ${what}`, expect }
}
