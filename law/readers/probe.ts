import { READER_BOUNDS } from './bounds.ts'
import type { Probe } from './format.ts'

/** Looks at the first bytes of a file. Nothing is decided by its name. */
export function probeOf(path: string, bytes: Uint8Array): Probe {
  const start = Buffer.from(bytes.subarray(0, READER_BOUNDS.probeBytes))
  const head = headOf(start)
  const none = { path, root: '', tag: '', head }
  if (start.subarray(0, 1024).includes('%PDF-')) return { ...none, kind: 'pdf' }
  if (start[0] === 0x50 && start[1] === 0x4b) return { ...none, kind: 'zip' }
  const tag = firstTag(head)
  if (tag === undefined) return { ...none, kind: 'text' }
  const root = /^<(?:[\w.-]+:)?([\w.-]+)/.exec(tag)?.[1] ?? ''
  const isHtml = /^html$/i.test(root) || (/<!doctype html/i.test(head.slice(0, 1_000)) && !head.startsWith('<?xml'))
  return { path, root, tag, head, kind: isHtml || HTML_ROOT.test(root) ? 'html' : 'xml' }
}

const HTML_ROOT = /^(?:html|head|body|meta|div|p|h1|main)$/i

function headOf(start: Buffer): string {
  if (start[0] === 0xff && start[1] === 0xfe) return start.toString('utf16le').slice(1)
  if (start[0] === 0xfe && start[1] === 0xff)
    return Buffer.from(start.subarray(0, start.length & ~1))
      .swap16()
      .toString('utf16le')
      .slice(1)
  return start.toString('utf8').replace(/^\uFEFF/, '')
}

/** The first start tag, after declarations, comments and a document type; undefined where text comes first. */
function firstTag(head: string): string | undefined {
  let from = 0
  for (;;) {
    from += /^\s*/.exec(head.slice(from))?.[0].length ?? 0
    const end = PROLOGUE.map(([open, close]) =>
      head.startsWith(open, from) ? head.indexOf(close, from) + close.length : 0,
    ).find(Boolean)
    if (end === undefined) break
    if (end < from) return undefined
    from = end
  }
  if (head[from] !== '<') return undefined
  const end = head.indexOf('>', from)
  return head.slice(from, end === -1 ? undefined : end + 1)
}

const PROLOGUE = [
  ['<!--', '-->'],
  ['<?', '?>'],
  ['<!', '>'],
  [']', '>'],
] as const
