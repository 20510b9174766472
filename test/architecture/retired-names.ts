import type { Rule, SourceFile } from './source-file.ts'

/**
 * Words that no identifier may hold, with the term that replaces each (GLOSSARY.md). Strings and comments are not
 * checked: stored names (queues, SQL, artifacts) and ordinary English stay.
 */
const RETIRED_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    lane: 'worker or slot',
    lanes: 'workers or slots',
    station: 'worker',
    stations: 'workers',
    errand: 'control task',
    errands: 'control tasks',
    tether: 'supervised process',
    spool: 'spill file',
    distrust: 'invalidate',
    twin: 'clone',
    commonness: 'static idf',
    informativeness: 'static idf',
    surroundings: 'context window',
    roads: 'paths',
    world: 'harness',
    books: 'ledger',
    judged: 'query with qrels',
    judges: 'sampled queries',
  }),
)

/** Whole identifiers that are retired. */
const RETIRED_IDENTIFIERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    JudgedQuestion: 'QueryWithQrels',
    raiseNamed: 'boostCited',
    namedRows: 'citedRows',
    evidenceOf: 'predictorsOf',
    allowedRows: 'filterBitset',
    gather: 'groupCommit or gatherRows',
    throwAway: 'temporary version',
    continues: 'sameRevisionAsPrevious',
    spreads: 'standardDeviations',
    newCaller: 'createCaller',
  }),
)

const RETIRED_FILES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'lanes.ts': 'workers.ts',
    'errands.ts': 'a file named after its control tasks',
    'station.ts': 'scoring-worker.ts',
    'spool.ts': 'a file named after its spill file',
    'tether.ts': 'supervised-process.ts',
    'distrust.ts': 'a file named after what it invalidates',
    'tidy.ts': 'collect-garbage.ts',
    'throw-away.ts': 'temporary-version.ts',
    'judges.ts': 'heads.ts',
    'judged-question.ts': 'query-with-qrels.ts',
    'informativeness.ts': 'static-idf.ts',
    'commonness.ts': 'static-idf.ts',
    'surroundings.ts': 'a file named after its context window',
    'raise-named.ts': 'boost.ts',
    'stemmers.ts': 'snowball.ts',
    'stem.ts': 'light-stemmer.ts',
    'evidence.ts': 'predictors.ts',
    'allowed.ts': 'filter-bitset.ts',
    'books.ts': 'ledger.ts',
    'roads.ts': 'paths.ts',
    'bars.ts': 'thresholds.ts',
    'twin.ts': 'clone.ts',
    'world.ts': 'harness.ts',
  }),
)
/** `core/index/vectors` keeps its heads until the format changes. */
const DESIGNATORS_FOLDER = 'core/index/references/'
/** Each of these file names may be used once; a second file needs a more specific name. */
const ONE_FILE_EACH: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'mapping.ts': 'jobs/import/mapping.ts',
    'keys.ts': 'jobs/cli/operator/commands/keys.ts',
  }),
)

const FREE = new RegExp(
  [
    String.raw`/\*[\s\S]*?\*/`,
    String.raw`//[^\n]*`,
    String.raw`'(?:\\.|[^'\\\n])*'`,
    String.raw`"(?:\\.|[^"\\\n])*"`,
    '`' + String.raw`(?:\\[\s\S]|\$\{[^}]*\}|[^` + '`' + String.raw`\\])*` + '`',
    // A regular expression, where an expression begins.
    String.raw`(?<=[(,=:[]\s*)/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+/[a-z]*`,
  ].join('|'),
  'g',
)
const IDENTIFIER = /[A-Za-z_$][\w$]*/g
const WORD = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g

function retiredIdentifiers(file: SourceFile): readonly string[] {
  if (file.path.startsWith('test/architecture/') || !/\.(?:ts|mjs)$/.test(file.path)) return []
  const code = file.text.replaceAll(FREE, ' ')
  return [...new Set(code.match(IDENTIFIER))].flatMap((identifier) => {
    const term =
      RETIRED_IDENTIFIERS.get(identifier) ??
      (identifier.match(WORD) ?? [])
        .map((word) => RETIRED_WORDS.get(word.toLowerCase()))
        .find((one) => one !== undefined)
    return term === undefined ? [] : [`${file.path} names something ${identifier}: the term is ${term}`]
  })
}

function retiredFile({ path }: SourceFile): readonly string[] {
  const name = (path.split('/').at(-1) ?? path).replace(/\.test\.ts$/, '.ts')
  const term = RETIRED_FILES.get(name)
  if (term !== undefined) return [`${path} has a retired name: the term is ${term}`]
  if (name === 'heads.ts' && path.includes(DESIGNATORS_FOLDER)) return [`${path}: the term is designators.ts`]
  const only = ONE_FILE_EACH.get(name)
  if (only === undefined || path === only || path.startsWith('test/')) return []
  return [`${path}: only ${only} has this name; say whose it is`]
}

/** `new` is the language's; what makes a value begins with `create`. */
const NEW_FUNCTION = /\b(?:function|const) (new[A-Z]\w*)\b(?=\s*(?:[(<]|=\s*(?:async\s*)?\())/g

function functionsNamedNew(file: SourceFile): readonly string[] {
  return [...file.text.replaceAll(FREE, ' ').matchAll(NEW_FUNCTION)].map(
    ([, name]) => `${file.path} has a function ${name}: what makes a value begins with create`,
  )
}

export const NAME_RULES: readonly Rule[] = [
  {
    guarantee: 'no function begins with new',
    breaches: functionsNamedNew,
    bad: [
      { path: 'test/support/caller.ts', text: 'export async function newCaller(): Promise<Caller> {' },
      { path: 'core/limits/epochs.ts', text: 'const newEpoch = async (id: string) => id' },
    ],
  },
  {
    guarantee: 'identifiers are the terms of the glossary',
    breaches: retiredIdentifiers,
    bad: [
      { path: 'search-node/threads/pool.ts', text: 'const lane = pool.free()' },
      { path: 'search-node/threads/pool.ts', text: 'function sendErrand(): void {}' },
      { path: 'jobs/evaluate/outcomes.ts', text: 'interface JudgedQuestion {}' },
      { path: 'core/platform/secret.ts', text: 'const TETHER_PAUSE = 3' },
      { path: 'test/scenarios/fleet.test.ts', text: 'const world = await startService()' },
      { path: 'core/index/passages/row-table.ts', text: "const table = { continues: flags, name: 'continues' }" },
    ],
  },
  {
    guarantee: 'no file has a retired name, and names that say whose they are stay apart',
    breaches: retiredFile,
    bad: [
      { path: 'core/platform/spool.ts', text: '' },
      { path: 'core/index/references/parser/heads.ts', text: '' },
      { path: 'search-node/search/mapping.ts', text: '' },
      { path: 'core/limits/keys.ts', text: '' },
      { path: 'test/support/world.ts', text: '' },
    ],
  },
]
