import { ROOM_RULES } from './rooms.ts'
import { importsOf, type Rule, type SourceFile } from './source-file.ts'

/** Areas that an area may import from, besides itself. Tests may import everything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  'law/citations': ['core'],
  law: ['core', 'law/citations'],
  gateway: ['core'],
  'search-node': ['core', 'law/citations'],
  jobs: ['core', 'law', 'law/citations'],
  operator: ['core', 'law', 'law/citations', 'jobs'],
  clients: [],
  test: ['core', 'law', 'law/citations', 'jobs', 'operator', 'gateway', 'search-node', 'clients'],
}

const SQL_STATEMENT = anyOf([
  /select\s[^'"`]*\bfrom\b/,
  /select\s+pg_/,
  /insert\s+into\s/,
  /update\s+\w+\s+set\s/,
  /delete\s+from\s/,
  /(?:create|alter|drop)\s+(?:table|role|database|index|schema|function|trigger)\b/,
  /truncate\s+\w/,
  /with\s+\w+\s+as\s*\(/,
  /(?:un)?listen\s+\w+\s*['"`]/,
  /notify\s+\w+\s*[,'"`]/,
  /begin['"`]/,
])
const SQL = new RegExp(`['"\`]\\s*(?:${SQL_STATEMENT})`, 'i')
const TEST_TIMEOUT = new RegExp(
  anyOf([/^(?:test|describe)\b.*\{ timeout: /, /^\s*\{ timeout: [\d_]+ \},?$/, /^\}, [\d_]+\)$/]),
)
/** At module level, so not indented. */
const OWN_BOUND = /^(?:export )?const [A-Z0-9_]*_(?:MS|MAX|MIN|BYTES|SECONDS|MB)\b[^=]*= *[\d.]/
const BOUNDED_BY_BOUNDS = new RegExp(
  anyOf([
    /^gateway\//,
    /^search-node\/(?:threads\/|[^/]+\.ts$)/,
    /^core\/(?:rpc|redis|limits|queues|db|reading)\//,
    /^core\/embedding\/[^/]+\.ts$/,
    /^jobs\/(?:platform|worker)\/[^/]+\.ts$/,
  ]),
)
const LOADED_AT_START = /^import (?!type ).*'(?:openai|@opensearch-project\/opensearch|@opentelemetry\/.*)'/
const FOLDS = /\.(?:to(?:Locale)?(?:Lower|Upper)Case|normalize|localeCompare)\(/
/** What reads texts and questions, and what folds other things than keys of law. */
const MAY_FOLD = new RegExp(
  anyOf([
    /^(?:core\/(?:identity|index\/analysis)|law\/citations)\//,
    /^core\/platform\/stream-safe\.ts$/, // the stored form of texts
    /^law\/import\/(?:[a-z]+\/)?(?:read-fields|enumerated-lists)\.ts$/, // words in names of fields, numbers of items
    /^core\/credentials\/fingerprint\.ts$/, // UUIDs
    /^core\/embedding\/known-models\.ts$/, // names of models
    /^(?:gateway\/app|search-node\/wire)\.ts$/, // names of HTTP headers and of fields
    /^law\/(?:readers\/heading-anchors|import\/(?:[a-z]+\/)?dates)\.ts$/, // generated anchors, names of months
    /^operator\/command-line\/inputs\.ts$/, // names of flags
    /^jobs\/platform\/page\/review\.mjs$/, // words that a reviewer looks for on the page
  ]),
)
/** What writes a manifest, reads it checked, or sends, fetches or publishes it, for others to read it checked. */
const MAY_NAME_MANIFESTS = /^(?:core\/index\/format\/(?:copies|verify|writer|manifest)|jobs\/trace\/pipeline)\.ts$/
const EMPTY_NAME = /(?:^|[-/.])(?:utils?|helpers?|managers?|misc)(?:[-/.]|$)/

function anyOf(patterns: readonly RegExp[]): string {
  return patterns.map(({ source }) => source).join('|')
}

function areaOf(path: string): string {
  if (path.startsWith('law/citations/')) return 'law/citations'
  return path.split('/')[0] ?? path
}

function boundaryBreaches(file: SourceFile): readonly string[] {
  const area = areaOf(file.path)
  const allowed = [area, ...(MAY_IMPORT[area] ?? [])]
  return importsOf(file)
    .filter((target) => !allowed.includes(areaOf(target)))
    .map((target) => `${file.path} imports ${target}: ${area} may import only ${allowed.join(', ')}`)
}

function matches(pattern: RegExp, file: SourceFile, what: string): readonly string[] {
  return file.text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${file.path}:${index + 1} ${what}`] : []))
}

const inTest = ({ path }: SourceFile): boolean => path.startsWith('test/')
/** What follows each call of `appendAudit` up to the end of its block. */
function afterAudit(text: string): readonly string[] {
  return [...text.matchAll(/\bawait appendAudit\(/g)].map((call) => {
    const rest = text.slice(call.index + call[0].length)
    let depth = 0
    for (const [at, character] of [...rest].entries()) {
      if (character === '{') depth++
      else if (character === '}' && --depth < 0) return [...rest].slice(0, at).join('')
    }
    return rest
  })
}

export const RULES: readonly Rule[] = [
  {
    guarantee:
      'core imports no service, law imports core alone, a search node of law its citations alone, the worker no ' +
      'command line, a client nothing of the service, and nothing but tests imports tests and clients',
    breaches: boundaryBreaches,
    bad: [
      ['core/limits.ts', "import { gatewayConfig } from '#gateway/config.ts'"],
      ['core/db/pool.ts', "import type { Stage } from '#jobs/version-build/stage.ts'"],
      ['gateway/app.ts', "import {\n  a,\n  b,\n} from '#search-node/versions.ts'"],
      ['search-node/threads/pool.ts', "export { plan } from '#jobs/platform/queues.ts'"],
      ['jobs/worker/main.ts', "const { start } = await import('#gateway/app.ts')"],
      ['jobs/version-build/pipeline.ts', "import { startRedis } from '#operator/demo/local/redis.ts'"],
      ['core/index/references/reader.ts', "import { parseReference } from '#law/citations/parser.ts'"],
      ['law/import/passage/stage.ts', "import { buildQueue } from '#jobs/platform/queues.ts'"],
      ['law/citations/parser.ts', "import { readDocument } from '../readers/read.ts'"],
      ['search-node/search/question.ts', "import { readDocument } from '#law/readers/read.ts'"],
      ['gateway/retrieve/narrow.ts', "import { referencesIn } from '#law/citations/parser.ts'"],
      ['operator/demo/main.ts', "import { startSearchNode } from '#search-node/node.ts'"],
      ['gateway/main.ts', "import '#test/support/servers.ts'"],
      ['gateway/openapi.ts', "import { EvidenceClient } from '#clients/typescript/index.ts'"],
      ['clients/typescript/index.ts', "import { sha256 } from '../../core/platform/digest.ts'"],
    ],
  },
  {
    guarantee: 'only core/db holds SQL, and the staging file of an import its own',
    breaches: (file) =>
      /^(?:core\/db|law\/import\/staging)\//.test(file.path) || inTest(file)
        ? []
        : SQL.test(file.text)
          ? [`${file.path} holds SQL: move the statement to core/db`]
          : [],
    bad: [
      ['gateway/retrieve/record.ts', 'const RECORD = `\n  insert into ledger (request_id)\n  values ($1)`'],
      ['jobs/worker/append-ledger.ts', "await pool.query('select request_id from reservations')"],
      ['core/limits/epochs.ts', "const NEXT = 'UPDATE limit_epochs SET epoch = $1'"],
      ['gateway/access-cache.ts', "client.query('listen access_changed')"],
    ],
  },
  {
    guarantee: 'services, database, queues, limits and transport declare their bounds in the bounds.ts of their domain',
    breaches: (file) =>
      BOUNDED_BY_BOUNDS.test(file.path)
        ? matches(OWN_BOUND, file, 'declares a bound of its own: move it to the bounds.ts of its domain')
        : [],
    bad: [
      ['gateway/retrieve/admit.ts', 'const ATTEMPT_PAUSE_MS = 25'],
      ['search-node/server.ts', 'export const CALLS_MAX = 1_000'],
      ['search-node/threads/pool.ts', 'const YOUNG_GENERATION_MB: number = 16'],
      ['core/queues/ledger-queue.ts', "import x from 'y'\n\nconst WAIT_SECONDS = 0.5"],
      ['jobs/platform/queues.ts', 'const EVENT_BYTES = 4 * 1024'],
    ],
  },
  {
    guarantee: 'a manifest is read in one function, which checks its digest and its signature',
    breaches: (file) =>
      MAY_NAME_MANIFESTS.test(file.path) || inTest(file)
        ? []
        : matches(
            /\b(?:MANIFEST_FILE|manifestSchema)\b|\bjoin\(.*['"`]manifest\.json/,
            file,
            'reads a manifest: call readSignedManifest',
          ),
    bad: [
      ['jobs/review/files.ts', "import { MANIFEST_FILE } from '#core/index/format/manifest.ts'"],
      ['jobs/evaluation/compare/pipeline.ts', "await readFile(join(folder, 'manifest.json'))"],
      ['search-node/versions.ts', 'manifestSchema.parse(JSON.parse(text))'],
    ],
  },
  {
    guarantee: 'an audit entry is the last statement of its transaction, which then holds the lock of the chain',
    breaches: (file) =>
      /^(?:core|gateway|jobs|operator|search-node)\//.test(file.path) &&
      afterAudit(file.text).some((rest) => /\bawait\b/.test(rest))
        ? [`${file.path} awaits something after appendAudit`]
        : [],
    bad: [
      [
        'jobs/activate/pipeline.ts',
        'async function flip() {\n  await appendAudit(client, { detail: {} })\n  await finish(client)\n}',
      ],
      [
        'operator/actions/plans.ts',
        'work(async () => {\n  if (changed) await appendAudit(client, entry)\n  return await read(client)\n})',
      ],
    ],
  },
  {
    guarantee: 'no test has a time-out of its own: waits follow progress (test/support/until.ts)',
    breaches: (file) =>
      inTest(file) && !file.path.startsWith('test/architecture/')
        ? matches(TEST_TIMEOUT, file, 'has a time-out of its own: use until or expectEventually')
        : [],
    bad: [
      ['test/core/ids.test.ts', "test('ids differ', { timeout: 45_000 }, async () => {"],
      ['test/core/ids.test.ts', "test(\n  'ids differ',\n  { timeout: 45_000 },\n"],
      ['test/faults/redis.test.ts', 'beforeAll(async () => {\n}, 60_000)'],
    ],
  },
  {
    guarantee: 'keys of law are folded in core/identity and nowhere else',
    breaches: (file) =>
      MAY_FOLD.test(file.path) || inTest(file)
        ? []
        : matches(FOLDS, file, 'folds a text of its own: compare keys by foldKey (core/identity/fold.ts)'),
    bad: [
      ['law/import/passage/fields.ts', 'const key = name.toLowerCase()'],
      ['jobs/evaluation/compare/contents.ts', "return label\n    .normalize('NFKC')"],
      ['gateway/retrieve/narrow.ts', 'values.map((code) => code.toUpperCase())'],
      ['jobs/review/approvals.ts', 'a.toLocaleLowerCase() === b'],
    ],
  },
  {
    guarantee: 'large libraries that few processes need are loaded where they are used, not at every start',
    breaches: (file) =>
      inTest(file) ? [] : matches(LOADED_AT_START, file, 'loads a large library at start: await import(…) it'),
    bad: [
      ['core/platform/json-endpoint.ts', "import { OpenAI } from 'openai'"],
      ['core/engine/client.ts', "import { Client } from '@opensearch-project/opensearch'"],
      ['gateway/app.ts', "import { trace } from '@opentelemetry/api'"],
    ],
  },
  {
    guarantee: 'a file is named after what it holds',
    breaches: ({ path }) => (EMPTY_NAME.test(path) ? [`${path} says nothing about its content`] : []),
    bad: [
      ['core/utils.ts', ''],
      ['test/support/http-helper.ts', ''],
      ['jobs/helpers/wait.ts', ''],
    ],
  },
  ...ROOM_RULES,
]
