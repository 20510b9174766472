import { streamSafeNfc } from '#core/platform/stream-safe.ts'

import MarkdownIt from 'markdown-it'

export interface HeadingAnchor {
  /** Line of the heading, from 1. */
  readonly line: number
  /** Without marks and anchor; empty for the text before the first heading. */
  readonly heading: string
  /** Unique in the file. */
  readonly anchor: string
  /** The publisher's anchor, where it leads to this heading: absent where an earlier heading has the same one. */
  readonly fragment: string | undefined
  /** Line of the first heading that has the publisher's anchor of this one, where that is another heading. */
  readonly repeatsLine: number | undefined
}

interface WrittenHeading {
  /** From 1. */
  readonly line: number
  /** With the publisher's anchor, as in `Register {#register}`; empty for the text before the first heading. */
  readonly written: string
  /** Generates the anchor of a heading without words. */
  readonly slug: string
}

/**
 * Returns headings with their anchors. An anchor of the publisher is kept: no generated anchor takes it. A publisher's
 * anchor that comes again, and a generated one that is taken, get the first free number.
 */
export function anchorsOf(headings: readonly WrittenHeading[]): readonly HeadingAnchor[] {
  const named = headings.map(({ line, written, slug }) => ({ line, slug, ...namesOf(written) }))
  const firstLines = new Map<string, number>()
  for (const { line, own } of named) if (own !== undefined && !firstLines.has(own)) firstLines.set(own, line)
  const free = freeAnchors(firstLines.keys())
  return named.map(({ line, slug, heading, own }) => {
    const firstLine = own === undefined ? undefined : firstLines.get(own)
    if (firstLine === line) return { line, heading, anchor: own ?? slug, fragment: own, repeatsLine: undefined }
    const anchor = free(own ?? (slugOf(heading) || slug))
    return { line, heading, anchor, fragment: undefined, repeatsLine: firstLine }
  })
}

const { unescapeAll } = new MarkdownIt().utils

/** Separates the anchor that ends a heading, and resolves escapes and entities (`2\\.1`). It is searched from the end, so that the cost is linear. */
function namesOf(written: string): { readonly heading: string; readonly own: string | undefined } {
  const heading = written.trim()
  const start = heading.endsWith('}') ? heading.lastIndexOf('{#') : -1
  const own = start === -1 ? '' : heading.slice(start + 2, -1)
  return own === '' || /[\s{}]/.test(own)
    ? { heading: unescapeAll(heading), own: undefined }
    : { heading: unescapeAll(heading.slice(0, start).trim()), own }
}

/** Returns the anchor that the words of a heading generate; empty where it has none. */
export function slugOf(heading: string): string {
  return streamSafeNfc(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '')
}

/** Returns a function that gives the first free one of `slug`, `slug-2`, …. A number that was taken is not retried. */
function freeAnchors(reserved: Iterable<string>): (slug: string) => string {
  const taken = new Set(reserved)
  const nextNumbers = new Map<string, number>()
  return (slug) => {
    for (let number = nextNumbers.get(slug) ?? 1; ; number += 1) {
      const anchor = number === 1 ? slug : `${slug}-${number}`
      if (taken.has(anchor)) continue
      taken.add(anchor)
      nextNumbers.set(slug, number + 1)
      return anchor
    }
  }
}
