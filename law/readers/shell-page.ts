import { foldKey } from '#core/identity/fold.ts'
import type { ReaderLoss } from './document.ts'
import { unreadStyles } from './html-style.ts'
import { allNamed, attribute, descendants, firstNamed, textOf, writtenIn, type MarkupElement } from './tree.ts'

/** What a server sends in place of a page, with status 200, or before a script fetches its text. */
const INSTEAD =
  /maintenance|temporarily (?:unavailable|out of service)|service unavailable|not available in html|under construction|access denied|page not found|(?:enable|requires?|need to enable|turn on) java ?script|javascript (?:is )?(?:required|disabled)|just a moment|verify (?:that )?you are (?:a )?human|captcha|session (?:has )?expired|please wait|^loading\b|wartungsarbeiten|nicht verfügbar|en mantenimiento|no disponible|indisponible|manutenzione|manutenção/i
const SHELL_CHARACTERS_MAX = 3_000
const SCRIPTED_CHARACTERS_MAX = 60

const WHITE = /^(?:white|#fff(?:fff)?|rgb\(255,255,255\))$/i

/** A colour that an element states for its letters or its ground. */
function colourOf(element: MarkupElement, property: string, name: string): string | undefined {
  const style = (attribute(element, 'style') ?? '').replaceAll(/\s+/g, '')
  const stated = new RegExp(`(?:^|;)${property}:([^;!]+)`, 'i').exec(style)?.[1] ?? attribute(element, name)
  return stated === undefined ? undefined : WHITE.test(stated) ? 'white' : foldKey(stated)
}

/** Letters in the colour of the nearest ground, which is white where nothing around them states one. */
function isUnseen(element: MarkupElement): boolean {
  const colour = colourOf(element, 'color', element.name === 'font' ? 'color' : '')
  if (colour === undefined) return false
  for (let next: MarkupElement | undefined = element; next !== undefined; next = next.parent) {
    const ground = colourOf(next, 'background(?:-color)?', 'bgcolor')
    if (ground !== undefined) return ground === colour
  }
  return colour === 'white'
}

/** What a page shows, or hides, in another way than by its text. */
export function pageLosses(root: MarkupElement): readonly ReaderLoss[] {
  const body = firstNamed(root, 'body') ?? root
  const hidden = ['script', 'style', 'noscript', 'template'] as const
  const text = textOf(body, ...hidden) ?? ''
  const line = body.line
  const said = `${text} ${textOf(firstNamed(root, 'noscript')) ?? ''}`
  const phrase = text.length > SHELL_CHARACTERS_MAX ? undefined : INSTEAD.exec(said)?.[0]
  const code = allNamed(root, 'script').filter((each) => !/json/.test(attribute(each, 'type') ?? ''))
  const scripts = code.some((each) => each.attributes.has('src') || writtenIn(each).trim() !== '')
  const white = [...descendants(body)].filter((each) => isUnseen(each) && textOf(each) !== undefined)
  const closed = allNamed(body, 'details').filter((each) => !each.attributes.has('open'))
  const columns = [...allNamed(body, 'col'), ...allNamed(body, 'colgroup')].filter(
    (each) => each.standing !== undefined,
  )
  return [
    ...unreadStyles(root),
    ...columns.map((each) => ({ name: 'hidden column of a table', count: 1, line: each.line })),
    ...white.map((each) => ({ name: 'white text', count: 1, line: each.line })),
    ...closed.map(({ line: at }) => ({ name: 'closed details', count: 1, line: at })),
    ...(phrase === undefined ? [] : [{ name: `page that says "${phrase}"`, count: 1, line }]),
    ...(scripts && text.length < SCRIPTED_CHARACTERS_MAX
      ? [{ name: 'page whose text a script brings', count: 1, line }]
      : []),
  ]
}
