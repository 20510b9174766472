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

/**
 * Embeds a style sheet of the project unchanged.
 * @throws Error when the style sheet could end its element.
 */
export function styleSheet(css: string): Markup {
  if (css.includes('<')) throw new Error('a style sheet must not contain "<"')
  return new Markup(`<style>\n${css}</style>`)
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

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
