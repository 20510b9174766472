import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'

const corpus = fileURLToPath(new URL('../../../../operator/demo/corpus/', import.meta.url))
const IN_FORCE_ON = '2026-11-21'
const TOP = 5
const questionSchema = z.object({ text: z.string(), relevant: z.array(z.string()) })

interface Rule {
  readonly sourceId: string
  readonly text: string
}

function rulesOf(file: string): Rule[] {
  const markdown = readFileSync(`${corpus}rulebook/${file}`, 'utf8')
  const field = (name: string): string => new RegExp(`^${name}: *(.*)$`, 'm').exec(markdown)?.[1] ?? ''
  const [from, to] = [field('effective_at'), field('effective_to')]
  if (field('verification_status') !== 'verified' || from > IN_FORCE_ON || (to !== '' && to <= IN_FORCE_ON)) return []
  return markdown.split(/^(?=#{1,3} )/m).flatMap((part) => {
    const heading = /^### (.*) \{#(.*)\}\n/.exec(part)
    return heading === null
      ? []
      : [
          {
            sourceId: `${field('document')}#${heading[2]}`,
            text: `${field('title')} > ${heading[1]}\n${part.slice(heading[0].length).trim()}`,
          },
        ]
  })
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? Number.NaN), 0)
}

describe('on the demo corpus', () => {
  test('exact search finds the right rules, and the best score separates answerable questions', async () => {
    const rules = readdirSync(`${corpus}rulebook`).flatMap(rulesOf)
    const lines = readFileSync(`${corpus}questions.jsonl`, 'utf8').trim().split('\n')
    const questions = lines.map((line) => questionSchema.parse(JSON.parse(line)))
    const signal = new AbortController().signal
    const embedder = createLocalEmbedder()
    const [passages, asked] = await Promise.all([
      embedder.embed(
        rules.map((rule) => rule.text),
        'passage',
        signal,
      ),
      embedder.embed(
        questions.map((question) => question.text),
        'query',
        signal,
      ),
    ])
    let found = 0
    const best: { answerable: boolean; score: number }[] = []
    for (const [at, question] of questions.entries()) {
      const vector = asked.vectors[at] ?? new Float32Array()
      const ranked = passages.vectors
        .map((passage, row) => ({ sourceId: rules[row]?.sourceId ?? '', score: dot(vector, passage) }))
        .toSorted((a, b) => b.score - a.score)
      best.push({ answerable: question.relevant.length > 0, score: ranked[0]?.score ?? 0 })
      const top = ranked.slice(0, TOP).map((passage) => passage.sourceId)
      if (question.relevant.length > 0)
        found += question.relevant.filter((id) => top.includes(id)).length / question.relevant.length
    }
    const answerable = best.filter((entry) => entry.answerable).map((entry) => entry.score)
    const unanswerable = best
      .filter((entry) => !entry.answerable)
      .map((entry) => entry.score)
      .toSorted((a, b) => b - a)
    const threshold = unanswerable[Math.floor(unanswerable.length / 10)] ?? 0
    expect(found / answerable.length).toBeGreaterThanOrEqual(0.9)
    expect(answerable.filter((score) => score > threshold).length / answerable.length).toBeGreaterThanOrEqual(0.9)
  })
})
