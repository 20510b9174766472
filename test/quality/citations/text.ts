/** Elements that hold no text of the document. */
const HIDDEN = /<!--[\s\S]*?-->|<(script|style)\b[\s\S]*?<\/\1>/gi
const TAG = /<[^>]+>/g
const ENTITY = /&(#\d{1,7}|#x[\da-f]{1,6}|amp|lt|gt|quot|apos|nbsp);/gi
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/**
 * Returns the text of a file as judgements count its characters. Markdown counts as it is. Of XML and HTML, tags become
 * spaces, entities become characters, and white space becomes single spaces.
 */
export function textOfFile(path: string, content: string): string {
  if (path.endsWith('.md')) return content
  const visible = content.replace(HIDDEN, ' ').replace(TAG, ' ')
  return visible.replace(ENTITY, (_, entity: string) => characterOf(entity)).replace(/\s+/g, ' ')
}

function characterOf(entity: string): string {
  if (!entity.startsWith('#')) return NAMED[entity.toLowerCase()] ?? ' '
  const isHexadecimal = /^#x/i.test(entity)
  const code = Number.parseInt(entity.slice(isHexadecimal ? 2 : 1), isHexadecimal ? 16 : 10)
  return code <= 0x10_ffff ? String.fromCodePoint(code) : ' '
}
