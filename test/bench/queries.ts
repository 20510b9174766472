import type { BenchCorpus, BenchPassage, Query, QuerySet } from './source.ts'
import { streamAt } from './stream.ts'

/** @returns the questions of each set; none where the corpus has no passage for it. */
export function askSets(corpus: BenchCorpus, seed: number, sets: readonly QuerySet[]): readonly (readonly Query[])[] {
  const samples = sampledPassages(corpus, seed, sets)
  return sets.map((set, at) => corpus.questions(set, samples[at] ?? []))
}

/** Passages drawn at random for each set, in one pass over the corpus (Vitter's algorithm R). */
function sampledPassages(
  corpus: BenchCorpus,
  seed: number,
  sets: readonly QuerySet[],
): readonly (readonly BenchPassage[])[] {
  const reservoirs = sets.map(({ count, set, wanted = () => true }) => ({
    count,
    wanted,
    random: streamAt(seed, 'queries', set),
    seen: 0,
    kept: new Array<BenchPassage>(),
  }))
  for (const passage of corpus.rows()) {
    for (const reservoir of reservoirs) {
      if (!reservoir.wanted(passage.position)) continue
      const at =
        reservoir.seen < reservoir.count ? reservoir.seen : Math.floor(reservoir.random() * (reservoir.seen + 1))
      if (at < reservoir.count) reservoir.kept[at] = passage
      reservoir.seen++
    }
  }
  return reservoirs.map(({ kept }) => kept)
}
