import { importsOf, type Rule, type SourceFile } from './source-file.ts'

/** What every room of the index may import. */
const INDEX_BASE = ['core/platform', 'core/index/artifact-error.ts', 'core/index/storage'] as const

const PARSER = 'law/citations'
const IMPORT = 'law/import'
/** What every room of the import may import. */
const IMPORT_BASE = [`${IMPORT}/bounds.ts`, 'law/readers', 'law/sources'] as const
/** What each room may import of its own area, besides itself; the longest folder that is a prefix of the path counts. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'core/platform': [],
  'core/identity': [],
  'core/index': ['core/platform', 'core/identity'],
  'core/index/storage': ['core/platform', 'core/index/artifact-error.ts', 'core/index/bounds.ts'],
  'core/index/vectors': [...INDEX_BASE, 'core/index/bitset.ts', 'core/index/top-k.ts'],
  'core/index/analysis': ['core/platform'],
  'core/index/passages': INDEX_BASE,
  'core/index/facets': [...INDEX_BASE, 'core/index/bitset.ts', 'core/index/passages'],
  'core/index/lexical': [...INDEX_BASE, 'core/index/analysis'],
  'core/index/ngrams': [
    ...INDEX_BASE,
    'core/index/top-k.ts',
    'core/index/hash-table.ts',
    'core/index/analysis',
    'core/index/lexical',
    'core/index/passages',
  ],
  'core/index/query-expansions': [...INDEX_BASE, 'core/index/analysis', 'core/index/lexical'],
  'core/index/references': [...INDEX_BASE, 'core/index/passages', 'core/index/analysis'],
  'core/index/format': ['core/platform', 'core/object-store', 'core/index'],
  'core/object-store': ['core/platform'],
  'core/domain': ['core/platform', 'core/index'],
  'core/engine': ['core/platform', 'core/index', 'core/domain'],
  'core/credentials': ['core/platform'],
  'core/redis': ['core/platform'],
  'core/queues': ['core/platform', 'core/redis'],
  'core/rpc': ['core/platform', 'core/domain'],
  'core/reading': ['core/platform', 'core/index/analysis', 'core/domain'],
  'core/rewriting': ['core/platform', 'core/identity', 'core/domain'],
  'core/embedding': ['core/platform', 'core/index'],
  'core/db': ['core/platform', 'core/identity', 'core/index', 'core/domain', 'core/credentials'],
  'core/limits': ['core/platform', 'core/domain', 'core/db', 'core/redis'],
  // The parser reads in this order: tokens, numbers of provisions, acts by jurisdiction, names, citations, antecedents.
  [PARSER]: [],
  [`${PARSER}/lexer`]: [],
  [`${PARSER}/provisions`]: [`${PARSER}/lexer`],
  [`${PARSER}/grammars`]: [`${PARSER}/citation.ts`, `${PARSER}/lexer`, `${PARSER}/provisions`],
  [`${PARSER}/names`]: [`${PARSER}/citation.ts`, `${PARSER}/lexer`, `${PARSER}/provisions`, `${PARSER}/grammars`],
  [`${PARSER}/extract`]: [
    `${PARSER}/citation.ts`,
    `${PARSER}/lexer`,
    `${PARSER}/provisions`,
    `${PARSER}/grammars`,
    `${PARSER}/names`,
  ],
  [`${PARSER}/antecedents`]: [
    `${PARSER}/citation.ts`,
    `${PARSER}/lexer`,
    `${PARSER}/provisions`,
    `${PARSER}/grammars`,
    `${PARSER}/names`,
  ],
  'law/readers': [],
  'law/sources': ['law/readers'],
  // An import reads records by a mapping, stages them, resolves what contradicts, and makes passages and a report.
  [IMPORT]: [PARSER, 'law/readers', 'law/sources'],
  [`${IMPORT}/mapping`]: IMPORT_BASE,
  [`${IMPORT}/parts`]: IMPORT_BASE,
  [`${IMPORT}/staging`]: [...IMPORT_BASE, PARSER],
  [`${IMPORT}/record`]: [...IMPORT_BASE, `${IMPORT}/mapping`],
  [`${IMPORT}/record/markdown`]: [...IMPORT_BASE, `${IMPORT}/mapping`],
  [`${IMPORT}/report`]: [...IMPORT_BASE, `${IMPORT}/mapping`, `${IMPORT}/staging`],
  [`${IMPORT}/passage`]: [
    ...IMPORT_BASE,
    PARSER,
    `${IMPORT}/mapping`,
    `${IMPORT}/parts`,
    `${IMPORT}/record`,
    `${IMPORT}/report`,
    `${IMPORT}/staging`,
  ],
  [`${IMPORT}/corpus`]: [...IMPORT_BASE, `${IMPORT}/mapping`, `${IMPORT}/record`],
  'jobs/platform': [],
  'jobs/encoder': [],
  'jobs/review': [],
  'jobs/evaluation': ['jobs/platform'],
  'jobs/trace': ['jobs/platform'],
  'jobs/version-build': ['jobs/platform', 'jobs/evaluation'],
  'jobs/capture': ['jobs/platform', 'jobs/version-build'],
  'jobs/activate': ['jobs/platform', 'jobs/review'],
  'jobs/worker': ['jobs/activate', 'jobs/capture', 'jobs/platform', 'jobs/trace', 'jobs/version-build'],
  'operator/processes': [],
  'operator/actions': ['operator/processes'],
  'operator/command-line': ['operator/actions', 'operator/processes'],
  'operator/commands': ['operator/actions', 'operator/command-line', 'operator/processes'],
  'operator/evaluate': ['operator/command-line', 'operator/processes'],
  'operator/console': ['operator/actions', 'operator/commands', 'operator/command-line', 'operator/processes'],
  'operator/demo': [
    'operator/actions',
    'operator/commands',
    'operator/command-line',
    'operator/console',
    'operator/processes',
  ],
  'operator/main.ts': ['operator/commands'],
}

/**
 * What ranking may import from the index: words of texts, the passage record, the token hash, sets of rows, and the
 * standard form of cosines.
 */
const RANKING_MAY_IMPORT = [
  'core/index/bitset.ts',
  'core/index/top-k.ts',
  'core/index/storage/read-spans.ts',
  'core/index/analysis/',
  'core/index/passages/record.ts',
  'core/index/hash-table.ts',
  'core/index/ngrams/coverage.ts',
  'core/index/ngrams/layout.ts',
  'core/index/lexical/idf.ts',
  'core/index/lexical/token-hash.ts',
  'core/index/vectors/cosine-statistics.ts',
] as const
const JOINS_INDEX_AND_RANKING = 'search-node/search/index-version.ts'
const READS_FILES = /^(?:core\/index|search-node\/search\/candidates)\//

const COMPARISON = 'jobs/evaluation/compare/'

const WIRE_MESSAGES = 'core/rpc/messages.ts'
const MAY_SEE_MESSAGES = /^(?:core\/rpc\/|search-node\/(?:wire|server)\.ts$|test\/)/

/** Areas whose rooms are listed above. */
const AREAS = new Set(['core', 'law', 'jobs', 'operator'])

function areaOf(path: string): string {
  return path.split('/')[0] ?? path
}

function roomOf(path: string): string {
  const rooms = Object.keys(ROOMS).filter((room) => path.startsWith(`${room}/`))
  return rooms.toSorted((a, b) => b.length - a.length)[0] ?? path
}

function climbs(file: SourceFile): readonly string[] {
  const area = areaOf(file.path)
  if (!AREAS.has(area)) return []
  const room = roomOf(file.path)
  const allowed = [room, ...(ROOMS[room] ?? [])]
  return importsOf(file)
    .filter((target) => areaOf(target) === area)
    .filter((target) => !allowed.some((one) => target === one || target.startsWith(`${one}/`)))
    .map((target) => `${file.path} imports ${target}: ${room} may import only ${allowed.join(', ')}`)
}

function readsIndexFiles(file: SourceFile): readonly string[] {
  const ranks = /^search-node\/search\/[^/]+\.ts$/.test(file.path) && file.path !== JOINS_INDEX_AND_RANKING
  if (!ranks) return []
  return importsOf(file)
    .filter((target) => READS_FILES.test(target))
    .filter((target) => !RANKING_MAY_IMPORT.some((allowed) => target.startsWith(allowed)))
    .map((target) => `${file.path} imports ${target}: ranking takes candidates and statistics, not files`)
}

export const ROOM_RULES: readonly Rule[] = [
  {
    guarantee: 'a room imports only the rooms below it',
    breaches: climbs,
    bad: [
      ['core/platform/log.ts', "import { sha256Hex } from '#core/index/format/manifest.ts'"],
      ['core/index/format/reader.ts', "import { search } from '#core/rpc/search-client.ts'"],
      ['core/index/vectors/graph.ts', "import type { Manifest } from '../format/manifest.ts'"],
      [`${PARSER}/provisions/lists.ts`, "import { readEuAct } from '../grammars/eu.ts'"],
      [`${PARSER}/grammars/us.ts`, "import { createActAliases } from '../names/aliases.ts'"],
      [`${PARSER}/extract/citations.ts`, "import { findCitations } from '../find.ts'"],
      [`${PARSER}/antecedents/resolve.ts`, "import { readProvision } from '../extract/provision.ts'"],
      ['core/db/exposure.ts', "import type { ServedPassage } from '#core/limits/limiter.ts'"],
      ['law/readers/places.ts', "import { mappingOf } from '#law/import/mapping/mapping.ts'"],
      [`${IMPORT}/mapping/mapping.ts`, "import type { SourceRecord } from '../record/record.ts'"],
      [`${IMPORT}/record/markdown/headings.ts`, "import type { SourceRecord } from '../record.ts'"],
      [`${IMPORT}/staging/conflicts.ts`, "import type { Finding } from '../report/findings.ts'"],
      [`${IMPORT}/report/report.ts`, "import { fieldsOf } from '#law/import/passage/fields.ts'"],
      ['jobs/evaluation/report.ts', "import { buildContext } from '#jobs/version-build/context.ts'"],
      ['jobs/platform/config.ts', "import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'"],
      ['operator/actions/plans.ts', "import { addCommands } from '#operator/command-line/command.ts'"],
      ['operator/evaluate/main.ts', "import { corpusAt } from '#operator/demo/corpus.ts'"],
      ['core/everything.ts', "import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'"],
    ],
  },
  {
    guarantee: 'a comparison uses the evaluation, and the evaluation no comparison',
    breaches: (file) =>
      file.path.startsWith('jobs/evaluation/') && !file.path.startsWith(COMPARISON)
        ? importsOf(file)
            .filter((target) => target.startsWith(COMPARISON))
            .map((target) => `${file.path} imports ${target}: jobs/version-build/evaluate.ts joins both`)
        : [],
    bad: [
      ['jobs/evaluation/pipeline.ts', "import { compareWithActive } from '#jobs/evaluation/compare/pipeline.ts'"],
      ['jobs/evaluation/page/page.ts', "import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'"],
    ],
  },
  {
    guarantee: 'what ranks candidates reads no file of the index',
    breaches: readsIndexFiles,
    bad: [
      ['search-node/search/pipeline.ts', "import { openFacetsReader } from '#core/index/facets/reader.ts'"],
      ['search-node/search/rescore.ts', "import type { x } from '../../core/index/format/reader.ts'"],
      ['search-node/search/fuse.ts', "import { nearestRows } from './candidates/vectors/search.ts'"],
      ['search-node/search/interfaces.ts', "import type { RowFile } from '#core/index/vectors/row-file.ts'"],
    ],
  },
  {
    guarantee: 'messages of the proto stay at the two edges',
    breaches: (file) =>
      MAY_SEE_MESSAGES.test(file.path) || !importsOf(file).includes(WIRE_MESSAGES)
        ? []
        : [`${file.path} imports ${WIRE_MESSAGES}: take the project's own types from core/domain/search.ts`],
    bad: [
      ['jobs/platform/search-nodes.ts', "import type { GetStatusReply } from '#core/rpc/messages.ts'"],
      ['gateway/retrieve/ask.ts', "import type { SearchReply } from '../../core/rpc/messages.ts'"],
    ],
  },
]
