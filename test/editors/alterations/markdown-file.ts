/** A Markdown source in the parts that alterations change. */
export interface MarkdownFile {
  /** Lines of the front matter. */
  readonly front: readonly string[]
  /** What stands before the first provision. */
  readonly head: string
  /** Each begins with its heading. */
  readonly provisions: readonly string[]
}

export function parseMarkdown(text: string): MarkdownFile {
  const [, yaml = '', body = ''] = /^---\n([^]*?)\n---\n([^]*)$/.exec(text) ?? []
  const [head = '', ...provisions] = body.split(/(?=^### )/m)
  return { front: yaml.split('\n'), head, provisions }
}

export function writeMarkdown({ front, head, provisions }: MarkdownFile): string {
  return ['---', ...front, '---', ''].join('\n') + head + provisions.join('')
}

export function fieldOf({ front }: MarkdownFile, name: string): string | undefined {
  return front.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
}

/** The file with other front matter; an undefined value removes the field. */
export function withFields(file: MarkdownFile, fields: Readonly<Record<string, string | undefined>>): MarkdownFile {
  const kept = file.front.filter((line) => !(line.slice(0, line.indexOf(':')) in fields))
  const set = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return { ...file, front: [...kept, ...set] }
}

export function withProvision(file: MarkdownFile, at: number, change: (provision: string) => string): MarkdownFile {
  return { ...file, provisions: file.provisions.map((each, index) => (index === at ? change(each) : each)) }
}

/** Heading line and the text below. */
export function headingAndText(provision: string): readonly [heading: string, text: string] {
  const end = provision.indexOf('\n')
  return [provision.slice(0, end), provision.slice(end).trim()]
}

/** The beginning of the first paragraph, by which a test finds the passage. */
export function beginningOf(provision: string): string {
  const [, text] = headingAndText(provision)
  return (text.split('\n')[0] ?? '').slice(0, 70)
}
