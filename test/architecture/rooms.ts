import { importsOf } from './source-file.ts'
import type { Rule, SourceFile } from './source-file.ts'

/** What every room of the index may import. */
const INDEX_BASE = ['core/platform', 'core/index/artifact-error.ts', 'core/index/storage'] as const

const PARSER = 'core/index/references/parser'
/** What each folder of core may import, besides itself; the longest folder that is a prefix of the path counts. */
const CORE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  'core/platform': [],
  'core/identity': [],
  'core/index': ['core/platform', 'core/identity'],
  'core/index/storage': ['core/platform', 'core/index/artifact-error.ts', 'core/index/bounds.ts'],
  'core/index/vectors': [...INDEX_BASE, 'core/index/bitset.ts', 'core/index/top-k.ts'],
  'core/index/analysis': ['core/platform'],
  'core/index/passages': INDEX_BASE,
  'core/index/facets': [...INDEX_BASE, 'core/index/bitset.ts', 'core/index/passages'],
  'core/index/lexical': [...INDEX_BASE, 'core/index/analysis'],
  'core/index/grams': [
    ...INDEX_BASE,
    'core/index/top-k.ts',
    'core/index/hash-table.ts',
    'core/index/analysis',
    'core/index/lexical',
    'core/index/passages',
  ],
  'core/index/search-questions': [...INDEX_BASE, 'core/index/analysis', 'core/index/lexical'],
  'core/index/references': [...INDEX_BASE, 'core/index/passages', 'core/index/analysis'],
  // The parser reads in this order: tokens, numbers of provisions, acts by jurisdiction, names, what belongs together.
  [`${PARSER}/lexer`]: ['core/platform', 'core/index/analysis'],
  [`${PARSER}/provisions`]: [`${PARSER}/lexer`],
  [`${PARSER}/grammars`]: [`${PARSER}/act.ts`, `${PARSER}/lexer`, `${PARSER}/provisions`],
  [`${PARSER}/names`]: [
    'core/index/analysis',
    `${PARSER}/act.ts`,
    `${PARSER}/lexer`,
    `${PARSER}/provisions`,
    `${PARSER}/grammars`,
  ],
  'core/index/format': ['core/platform', 'core/index'],
  'core/domain': ['core/platform', 'core/index'],
  'core/engine': ['core/platform', 'core/index', 'core/domain'],
  'core/credentials': ['core/platform'],
  'core/redis': ['core/platform'],
  'core/queues': ['core/platform', 'core/redis'],
  'core/rpc': ['core/platform', 'core/domain'],
  'core/reranking': ['core/platform', 'core/domain'],
  'core/reading': ['core/platform', 'core/index/analysis', 'core/domain', 'core/reranking'],
  'core/embedding': ['core/platform', 'core/index'],
  'core/db': ['core/platform', 'core/identity', 'core/index', 'core/domain', 'core/credentials'],
  'core/limits': ['core/platform', 'core/domain', 'core/db', 'core/redis'],
}

/** The folders of command lines, and which of the others each may import. The worker imports none of them. */
const COMMAND_LINES: Readonly<Record<string, readonly string[]>> = {
  'jobs/command-line': [],
  'jobs/operator': ['jobs/command-line'],
  'jobs/demo': ['jobs/command-line', 'jobs/operator'],
  'jobs/evaluation/command': ['jobs/command-line'],
  'jobs/evaluation/natural': ['jobs/command-line', 'jobs/evaluation/command'],
}

/** What ranking may import from the index: words of texts, the passage record, the token hash, sets of rows, and the standard form of cosines. */
const RANKING_MAY_IMPORT = [
  'core/index/bitset.ts',
  'core/index/top-k.ts',
  'core/index/storage/read-spans.ts',
  'core/index/analysis/',
  'core/index/passages/record.ts',
  'core/index/hash-table.ts',
  'core/index/grams/coverage.ts',
  'core/index/grams/layout.ts',
  'core/index/lexical/idf.ts',
  'core/index/lexical/token-hash.ts',
  'core/index/vectors/cosine-statistics.ts',
] as const
const JOINS_INDEX_AND_RANKING = 'search-node/search/index-version.ts'
const CANDIDATE_INTERFACE = 'search-node/search/candidates/source.ts'
const READS_FILES = /^(?:core\/index|search-node\/search\/candidates)\//

const WIRE_MESSAGES = 'core/rpc/messages.ts'
const MAY_SEE_MESSAGES = /^(?:core\/rpc\/|search-node\/(?:wire|server)\.ts$|test\/)/

function roomOf(path: string): string {
  const rooms = Object.keys(CORE_ROOMS).filter((room) => path.startsWith(`${room}/`))
  return rooms.toSorted((a, b) => b.length - a.length)[0] ?? path
}

function climbs(file: SourceFile): readonly string[] {
  if (!file.path.startsWith('core/')) return []
  const room = roomOf(file.path)
  const allowed = [room, ...(CORE_ROOMS[room] ?? [])]
  return importsOf(file)
    .filter((target) => !allowed.some((one) => target === one || target.startsWith(`${one}/`)))
    .map((target) => `${file.path} imports ${target}: ${room} may import only ${allowed.join(', ')}`)
}

function commandLineOf(path: string): string | undefined {
  return Object.keys(COMMAND_LINES).find((folder) => path.startsWith(`${folder}/`))
}

function entersCommandLines(file: SourceFile): readonly string[] {
  if (!file.path.startsWith('jobs/')) return []
  const own = commandLineOf(file.path)
  const allowed = own === undefined ? [] : [own, ...(COMMAND_LINES[own] ?? [])]
  return importsOf(file)
    .filter((target) => {
      const other = commandLineOf(target)
      return other !== undefined && !allowed.includes(other)
    })
    .map((target) => `${file.path} imports ${target}: move what both need to a folder of no command line`)
}

function readsIndexFiles(file: SourceFile): readonly string[] {
  const ranks = /^search-node\/search\/[^/]+\.ts$/.test(file.path) && file.path !== JOINS_INDEX_AND_RANKING
  if (!ranks && file.path !== CANDIDATE_INTERFACE) return []
  return importsOf(file)
    .filter((target) => READS_FILES.test(target) && target !== CANDIDATE_INTERFACE)
    .filter((target) => !RANKING_MAY_IMPORT.some((allowed) => target.startsWith(allowed)))
    .map((target) => `${file.path} imports ${target}: ranking takes candidates and statistics, not files`)
}

export const ROOM_RULES: readonly Rule[] = [
  {
    guarantee: 'a room of core imports only the rooms below it',
    breaches: climbs,
    bad: [
      { path: 'core/platform/log.ts', text: "import { sha256Hex } from '#core/index/format/manifest.ts'" },
      { path: 'core/index/format/reader.ts', text: "import { search } from '#core/rpc/search-client.ts'" },
      { path: 'core/index/vectors/graph.ts', text: "import type { Manifest } from '../format/manifest.ts'" },
      { path: `${PARSER}/provisions/lists.ts`, text: "import { readEuAct } from '../grammars/eu.ts'" },
      { path: `${PARSER}/grammars/us.ts`, text: "import { KNOWN_ACTS } from '../names/known-acts.ts'" },
      { path: 'core/db/exposure.ts', text: "import type { ServedPassage } from '#core/limits/limiter.ts'" },
      { path: 'core/everything.ts', text: "import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'" },
    ],
  },
  {
    guarantee: 'the worker imports no command line, and a command line only those that its table names',
    breaches: entersCommandLines,
    bad: [
      { path: 'jobs/version-build/pipeline.ts', text: "import { createProgress } from '#operator/command-line/progress.ts'" },
      { path: 'jobs/evaluation/report.ts', text: "import { renderTable } from './command/table.ts'" },
      { path: 'operator/evaluate/natural/evaluation.ts', text: "import { corpusAt } from '#operator/demo/corpus.ts'" },
      { path: 'operator/command-line/wait.ts', text: "import type { DemoFlags } from '#operator/demo/flags.ts'" },
    ],
  },
  {
    guarantee: 'a comparison uses the evaluation, and the evaluation no comparison',
    breaches: (file) =>
      file.path.startsWith('jobs/evaluation/')
        ? importsOf(file)
            .filter((target) => target.startsWith('jobs/evaluation/compare/'))
            .map((target) => `${file.path} imports ${target}: jobs/version-build/evaluate.ts joins both`)
        : [],
    bad: [
      { path: 'jobs/evaluation/pipeline.ts', text: "import { compareWithActive } from '#jobs/evaluation/compare/pipeline.ts'" },
      {
        path: 'jobs/evaluation/page/page.ts',
        text: "import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'",
      },
    ],
  },
  {
    guarantee: 'what ranks candidates reads no file of the index',
    breaches: readsIndexFiles,
    bad: [
      {
        path: 'search-node/search/pipeline.ts',
        text: "import { openFacetsReader } from '#core/index/facets/reader.ts'",
      },
      { path: 'search-node/search/rescore.ts', text: "import type { x } from '../../core/index/format/reader.ts'" },
      { path: 'search-node/search/fuse.ts', text: "import { nearestRows } from './candidates/vectors/search.ts'" },
      { path: CANDIDATE_INTERFACE, text: "import type { RowFile } from '#core/index/vectors/row-file.ts'" },
    ],
  },
  {
    guarantee: 'messages of the proto stay at the two edges',
    breaches: (file) =>
      MAY_SEE_MESSAGES.test(file.path) || !importsOf(file).includes(WIRE_MESSAGES)
        ? []
        : [`${file.path} imports ${WIRE_MESSAGES}: take the project's own types from core/domain/search.ts`],
    bad: [
      { path: 'jobs/platform/search-nodes.ts', text: "import type { GetStatusReply } from '#core/rpc/messages.ts'" },
      { path: 'gateway/retrieve/ask.ts', text: "import type { SearchReply } from '../../core/rpc/messages.ts'" },
    ],
  },
]
