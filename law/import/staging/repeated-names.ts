import { z } from 'zod'
import { pairColumns, pairOf, pairSchema, rowsOf, type StagedLocation, type Staging } from './staging.ts'

/** By what a caller finds a text. An article's parts share its anchor, so that only one of another document counts. */
const NAMES = {
  label: { columns: ['law', 'cited'], only: '', differ: '', pair: 'true' },
  // Where both are cited alike too, their label names them.
  provision: { columns: ['law', 'document', 'provision'], only: '', differ: '', pair: 'a.cited <> b.cited' },
  anchor: {
    columns: ['law', 'anchor'],
    only: 'and anchor is not null',
    differ: 'and min(document) <> max(document)',
    pair: 'a.document <> b.document',
  },
} as const
export type NameKind = keyof typeof NAMES

/** Several texts that are in force at one time under one name. */
export interface RepeatedName {
  readonly kind: NameKind
  /** As each of the two cites it. */
  readonly labels: readonly [first: string, second: string]
  /** The most that are in force at one time. */
  readonly texts: number
  readonly first: StagedLocation
  readonly second: StagedLocation
}

const INDEX_CITED = 'create index record_cited on record (law, cited)'
const INDEX_ANCHORS = 'create index record_anchor on record (law, anchor) where anchor is not null'

const equal = (kind: NameKind, a: string, b: string): string =>
  NAMES[kind].columns.map((column) => `${a}.${column} = ${b}.${column}`).join(' and ')

/** The names with several texts, and how many of these are in force at one time; a text that only repeats counts once. */
function repeatedNames(kind: NameKind): string {
  const { columns, only, differ } = NAMES[kind]
  const names = columns.join(', ')
  return `
drop table if exists repeated;
create table repeated as
with name as (
  select ${names} from record where kept = 1 and served = 1 ${only}
  group by ${names} having count(*) > 1 and min(text) <> max(text) ${differ}
),
span as (
  select distinct ${columns.map((column) => `r.${column}`).join(', ')}, r.text, r.effective_at as starts,
    ifnull(p.effective_to, 9e15) as ends
  from name n cross join record r on ${equal(kind, 'r', 'n')} join kept_record p on p.seq = r.seq
  where r.kept = 1 and r.served = 1
),
running as (
  select ${names}, sum(change) over (
    partition by ${names} order by at, change rows between unbounded preceding and current row) as texts
  from (select ${names}, starts as at, 1 as change from span union all select ${names}, ends, -1 from span)
)
select ${names}, max(texts) as texts from running group by ${names} having max(texts) > 1`
}

const LIST_REPEATED = 'select rowid as name, texts from repeated order by rowid'
const repeatedSchema = z.object({ name: z.int(), texts: z.int() })

/** The first two that differ and are in force at one time. The indexes give their order: sorting all pairs is quadratic. */
const firstPair = (kind: NameKind): string => `
select ${pairColumns('a', 'b')}, a.label, b.label as other_label
from repeated n
cross join record a on ${equal(kind, 'a', 'n')} join kept_record p on p.seq = a.seq
cross join record b on ${equal(kind, 'b', 'n')} and b.seq > a.seq join kept_record q on q.seq = b.seq
where n.rowid = ? and a.served = 1 and b.served = 1 and a.text <> b.text
  and ${NAMES[kind].pair}
  and a.effective_at < ifnull(q.effective_to, 9e15) and b.effective_at < ifnull(p.effective_to, 9e15)
limit 1`
const labelledSchema = pairSchema.extend({ label: z.string(), other_label: z.string() })

/** Yields the names under which several texts are served on one day, in one law; once the ends are derived. */
export function* readRepeatedNames(staging: Staging): Generator<RepeatedName> {
  const { connection } = staging
  connection.exec(INDEX_CITED)
  connection.exec(INDEX_ANCHORS)
  for (const kind of ['label', 'provision', 'anchor'] as const) {
    connection.exec(repeatedNames(kind))
    const pair = connection.prepare(firstPair(kind))
    for (const { name, texts } of Array.from(rowsOf(staging, LIST_REPEATED, repeatedSchema))) {
      const found = labelledSchema.optional().parse(pair.get(name))
      if (found !== undefined) yield { kind, labels: [found.label, found.other_label], texts, ...pairOf(found) }
    }
  }
}
