import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownSource } from '#test/support/markdown-source.ts'

/**
 * A small corpus with what the demo's rulebook lacks: several languages, passages as long as they may be and of several
 * bytes a character, every verification status, passages without a subject or an anchor, revisions past and to come.
 */
export const MIXED_KNOWLEDGE_BASE = 'mixed'
/** Of a caller of it. */
export const OF_MIXED = { knowledgeBase: MIXED_KNOWLEDGE_BASE, jurisdictions: ['XA'] }

interface MixedDocument {
  readonly name: string
  readonly front: Readonly<Record<string, string>>
  /** Texts by their headings. */
  readonly sections: Readonly<Record<string, string>>
}

const COMMON = {
  authority: 'Test Authority',
  jurisdiction: 'XA',
  language: 'en',
  subject: 'alpha',
  published_at: '2020-01-01',
  effective_at: '2020-02-01',
  verification_status: 'verified',
}

/** Together with 4,000 characters of three bytes each, five of these exceed the reply of any default plan. */
export const LONG_TOPIC = 'dredging of silted harbour basins'
const LONG_SECTIONS = 6
const PASSAGE_CHARACTERS = 4_000

function longSection(n: number): readonly [string, string] {
  const rule = `Rule ${n} on the ${LONG_TOPIC}`
  const sentence = `${rule} sets how dredging vessels keep the harbour basins free of silt, part ${n}.`
  return [`Dredging ${n} {#dredging-${n}}`, `${sentence} ${'€'.repeat(PASSAGE_CHARACTERS - sentence.length - 1)}`]
}

export const SUPERSEDED_QUERY = 'What tonnage of pilot boats did the ancient pilotage ordinance prescribe?'
export const FUTURE_QUERY = 'Which hydrogen beacons will the coming lighthouse statute demand?'
export const PROVISIONAL_QUERY = 'What does the consultation on seaweed farming licences propose?'
export const WITHDRAWN_QUERY = 'How were whalebone tariffs computed for corset makers?'
export const FRENCH_QUERY = 'Quelle redevance paie un ostréiculteur pour ses parcs à huîtres?'
export const NO_SUBJECT_QUERY = 'How many ravens live in the keep of the customs tower?'

const DOCUMENTS: readonly MixedDocument[] = [
  {
    name: 'dredging',
    front: { title: 'Dredging Code' },
    sections: Object.fromEntries(Array.from({ length: LONG_SECTIONS }, (_, n) => longSection(n + 1))),
  },
  {
    name: 'oysters',
    front: { title: 'Code des huîtres', language: 'fr', subject: 'beta' },
    sections: {
      'Redevance {#redevance}':
        'Un ostréiculteur paie pour ses parcs à huîtres une redevance annuelle de douze couronnes ' +
        'par mètre carré exploité.',
    },
  },
  {
    name: 'mangroves',
    front: { title: 'Código dos manguezais', language: 'pt-BR', jurisdiction: 'XB', subject: 'beta' },
    sections: {
      'Manguezais {#manguezais}':
        'A licença para cortar manguezais vale por dois anos e custa trinta coroas por hectare desmatado na costa.',
    },
  },
  {
    name: 'ravens',
    front: { title: 'Customs of the Tower', subject: '' },
    sections: {
      Ravens:
        'Seven ravens live in the keep of the customs tower, and the keeper feeds the ravens at dawn with herring.',
    },
  },
  {
    name: 'pilotage-old',
    front: { document: 'pilotage', title: 'Pilotage Ordinance', effective_to: '2021-01-01' },
    sections: {
      'Pilot boats {#boats}':
        'The ancient pilotage ordinance prescribes that pilot boats have a tonnage of forty tons and two lanterns.',
    },
  },
  {
    name: 'pilotage',
    front: { title: 'Pilotage Ordinance', published_at: '2020-11-01', effective_at: '2021-01-01' },
    sections: {
      'Pilot boats {#boats}':
        'Under this ordinance every pilot boat carries radar, a transponder ' +
        'and a licensed pilot with ten years at sea.',
    },
  },
  {
    name: 'lighthouses',
    front: { title: 'Lighthouse Statute', published_at: '2026-01-01', effective_at: '2040-01-01' },
    sections: {
      'Beacons {#beacons}':
        'The coming lighthouse statute demands hydrogen beacons on every headland within three ' +
        'nautical miles of a port.',
    },
  },
  {
    name: 'seaweed',
    front: { title: 'Consultation on Seaweed', verification_status: 'provisional' },
    sections: {
      'Seaweed {#seaweed}':
        'The consultation on seaweed farming licences proposes a licence of five years for each ' +
        'farmed lagoon of seaweed.',
    },
  },
  {
    name: 'whalebone',
    front: { title: 'Whalebone Tariffs', verification_status: 'withdrawn' },
    sections: {
      'Tariffs {#tariffs}':
        'Whalebone tariffs for corset makers were computed by the ell of whalebone landed at the old customs quay.',
    },
  },
]

/** Writes the corpus as Markdown. @returns the folder to import. */
export function writeMixedCorpus(folder: string): string {
  mkdirSync(folder, { recursive: true })
  for (const { name, front, sections } of DOCUMENTS) {
    const fields = Object.entries({
      ...COMMON,
      document: name,
      canonical_url: `https://mixed.example/${name}`,
      ...front,
    })
    const present = Object.fromEntries(fields.filter(([, value]) => value !== ''))
    const body = Object.entries(sections).map(([heading, text]) => `## ${heading}\n\n${text}\n`)
    const text = ['', `# ${front['title'] ?? name}`, '', ...body].join('\n')
    writeFileSync(join(folder, `${name}.md`), markdownSource(present, text))
  }
  return folder
}
