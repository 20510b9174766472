import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sha256 } from '#core/platform/digest.ts'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'

const embedder = createLocalEmbedder()

async function embed(...texts: string[]): Promise<readonly Float32Array[]> {
  return (await embedder.embed(texts, 'passage', new AbortController().signal)).vectors
}

async function cosine(a: string, b: string): Promise<number> {
  const [left = new Float32Array(), right = new Float32Array()] = await embed(a, b)
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? Number.NaN), 0)
}

function norm(vector: Float32Array): number {
  return Math.hypot(...vector)
}

const GOLDEN_TEXT =
  'DPR-F 2.1 Breach notification\nA licensee informs the Registrar of a personal data breach within ' +
  '36 hours. Verträge, délais.'

describe('the local embedder', () => {
  test('gives the same bytes for the same text in every release of its model name', async () => {
    const [vector] = await embed(GOLDEN_TEXT)
    expect(sha256(new Uint8Array(vector?.buffer ?? new ArrayBuffer())).toString('hex')).toBe(
      'a93faf3856b2d75f5016bbcf669ca51bcce16d7d8b763d1c45062042d9ea4107',
    )
  })

  test('does not depend on the locale or time zone of the machine', async () => {
    const program = `import('#core/embedding/local/embedder.ts').then(async ({ createLocalEmbedder }) => {
      const { vectors } = await createLocalEmbedder().embed(
        ['IDENTITY of Istanbul licensees'],
        'passage',
        new AbortController().signal,
      )
      process.stdout.write(Buffer.from(vectors[0].buffer).toString('hex'))
    })`
    const run = promisify(execFile)
    const [turkish, plain] = await Promise.all(
      ['tr_TR.UTF-8', 'C'].map((locale) =>
        run(process.execPath, ['--input-type=module', '-e', program], {
          env: { LC_ALL: locale, LANG: locale, TZ: 'Asia/Tokyo' },
        }),
      ),
    )
    const [here] = await embed('IDENTITY of Istanbul licensees')
    expect(turkish?.stdout).toBe(plain?.stdout)
    expect(turkish?.stdout).toBe(Buffer.from(here?.buffer ?? new ArrayBuffer()).toString('hex'))
  })

  test('gives a finite unit vector of its dimensions for any text at all, alone or in a batch', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.string({ unit: 'binary' }),
            fc.string({ unit: 'grapheme' }),
            fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
          ),
          { maxLength: 4 },
        ),
        async (texts) => {
          const together = await embed(...texts)
          expect(together).toHaveLength(texts.length)
          for (const [at, text] of texts.entries()) {
            const [alone] = await embed(text)
            expect(together[at]).toEqual(alone)
            expect(alone).toHaveLength(embedder.space.dimensions)
            expect(norm(alone ?? new Float32Array())).toBeCloseTo(1, 5)
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  test('reports no tokens', async () => {
    expect((await embedder.embed(['one'], 'passage', new AbortController().signal)).tokens).toBeNull()
  })

  test('refuses with an EmbeddingError once the caller has ended', async () => {
    await expect(embedder.embed(['one'], 'passage', AbortSignal.abort())).rejects.toBeInstanceOf(EmbeddingError)
  })
})

describe('similarity', () => {
  test('is nearly 1 between spellings and inflections of one phrase', async () => {
    expect(await cosine('notify the data breach', 'NOTIFYING data breaches')).toBeGreaterThan(0.95)
    expect(await cosine('die Verträge der Behörden', 'den Vertrag der Behörde')).toBeGreaterThan(0.95)
    expect(await cosine('les délais demandés', 'le delai demande')).toBeGreaterThan(0.95)
  })

  test('survives compounding and derivation in part', async () => {
    const short = 'Aufsicht Kündigung Verjährung Haftung'
    const related = await cosine(short, 'Aufsichtsbehörde Kündigungsfrist Verjährungsfrist Haftungsausschluss')
    const unrelated = await cosine(short, 'Mietvertrag Finderlohn Betriebsrat Stammkapital')
    expect(related).toBeGreaterThan(unrelated + 0.08)
    const derived = await cosine('notify disclose supervise', 'notification disclosure supervisory')
    expect(derived).toBeGreaterThan((await cosine('notify disclose supervise', 'escrow custody leverage')) + 0.08)
  })

  test('grows with the share of the question that a passage covers', async () => {
    const passage =
      'Breach notification\nA licensee informs the Registrar of a personal data breach within 36 ' +
      'hours after becoming aware of it.'
    const covered = await cosine('When must a licensee inform the Registrar of a personal data breach?', passage)
    const half = await cosine('When must a broker inform the exchange of a short sale?', passage)
    expect(covered).toBeGreaterThan(2 * half)
  })

  test('a question of function words alone, or of punctuation alone, is near to no passage', async () => {
    const passage = 'Annual fee\nA harbour licensee pays an annual fee of 1,200 crowns by 1 June.'
    expect(await cosine('what is it that they do', passage)).toBeLessThan(0.15)
    expect(await cosine('???', passage)).toBeLessThan(0.15)
    expect(await cosine('???', '}')).toBeLessThan(0.15)
  })
})
