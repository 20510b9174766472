/** A Markdown source with these fields in its front matter. */
export function markdownSource(fields: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  return ['---', ...lines, '---', body].join('\n')
}

/** A source of one small rulebook; `front` adds to its front matter or overrides it. */
export function beeRules(body: string, front: Readonly<Record<string, string>> = {}): string {
  const fields = {
    document: 'bees',
    title: 'Bee Rulebook',
    authority: 'Bee Authority',
    canonical_url: 'https://bees.example/rules',
    language: 'en',
    jurisdiction: 'gb',
    published_at: '2024-04-15',
    effective_at: '2024-07-01',
    verification_status: 'source-declared',
  }
  return markdownSource({ ...fields, ...front }, body)
}
