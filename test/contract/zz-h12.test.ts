import { test } from 'vitest'
import { newCaller } from './service.ts'
import { MIXED_KNOWLEDGE_BASE } from './corpus.ts'
test('t', async () => {
  const m = await newCaller({ knowledgeBase: MIXED_KNOWLEDGE_BASE, languages: ['en', 'fr', 'pt-BR'], jurisdictions: ['XA', 'XB'], subjects: ['alpha', 'beta'] })
  for (const [q, filters] of [['Quelle redevance paie un ostréiculteur pour ses parcs à huîtres?', undefined], ['Quelle redevance annuelle un ostréiculteur paie-t-il pour ses parcs à huîtres?', { language: ['fr'] }], ['Quelle redevance annuelle paie un ostréiculteur pour ses parcs à huîtres exploités, par mètre carré?', { language: ['fr'] }], ['Un ostréiculteur paie pour ses parcs à huîtres une redevance annuelle', { language: ['fr'] }]] as const) {
    const r = (await m.ask({ query: q, ...(filters ? { filters } : {}) })).retrieved()
    console.log(q, r.abstention.decision, r.abstention.observed_value, r.abstention.threshold, r.results.map((x) => x.document.title + x.score))
  }
  const c = await newCaller()
  const f = await newCaller({ jurisdictions: ['HS-F'] })
  for (const [who, q, filters] of [[c, 'What does COB-M 2.1 say?'], [c, 'How long is the cooling-off period under COB-M 2.1 of the rulebook?'], [c, 'What does COB-M 99.9 say?'], [c, 'What does Rule COB-M 2.1 say about cooling off?', { jurisdiction: ['HS-F'] }], [f, 'What does COB-M 2.1 say?'], [f, 'COB-M 99.9'], [c, 'TKD-F 1.1'], [c, 'cob-m 2.1'], [c, 'Article 6 GDPR']] as const) {
    const r = (await who.ask({ query: q, ...(filters ? { filters } : {}) })).retrieved()
    console.log(q, JSON.stringify(r.abstention), r.results.map((x) => x.citation.label + x.score))
  }
})
