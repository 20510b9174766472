import { sha256 } from '#core/platform/digest.ts'

/** Text that is HTML already. Only this file constructs it, so no other text reaches a page unescaped. */
class Markup {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

export type { Markup }

type Part = Markup | string | number | readonly (Markup | string | number)[]

/** Fills a template with values. Every value that is not Markup is escaped for text and quoted attributes. */
export function html(template: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  let source = template[0] ?? ''
  for (const [at, part] of parts.entries()) source += sourceOf(part) + (template[at + 1] ?? '')
  return new Markup(source)
}

/** Embeds a style sheet of the project unchanged. @throws Error when the style sheet could end its element. */
export function styleSheet(css: string): Markup {
  if (css.includes('<')) throw new Error('a style sheet must not contain "<"')
  return new Markup(`<style>\n${css}</style>`)
}

/**
 * Embeds a script of the project unchanged.
 * @returns the element, and the SHA-256 (base64) that a policy allows it by.
 * @throws Error when the script could end its element.
 */
export function scriptElement(script: string): { readonly element: Markup; readonly sha256: string } {
  if (/<\/script|<!--/i.test(script)) throw new Error('a script must not contain "</script" or "<!--"')
  return { element: new Markup(`<script type="module">${script}</script>`), sha256: sha256(script).toString('base64') }
}

/** Embeds bytes for a script under an id; no browser runs them. */
export function dataElement(id: string, bytes: Buffer): Markup {
  return html`<script type="application/octet-stream" id="${id}">
    ${bytes.toString('base64')}
  </script>`
}

export const NOTHING = html``

function sourceOf(part: Part): string {
  if (part instanceof Markup) return part.source
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return part.map(sourceOf).join('')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** The words of a part, for a terminal; no tag holds a text of others unescaped. */
export function textOf(part: Markup | string | number): string {
  if (!(part instanceof Markup)) return String(part)
  const plain = part.source
    .replaceAll('<small>', ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
  const characters = Object.entries(ESCAPES)
  return characters.reduceRight((text, [character, escape]) => text.replaceAll(escape, character), plain).trim()
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
