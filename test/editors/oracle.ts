import { CHANGE_KINDS, type ChangeKind } from '#core/domain/changes.ts'
import { kindsToAccept } from '#jobs/review/transition.ts'
import { DEFAULT_REVIEW_POLICY } from '#core/domain/review-policy.ts'
import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'
import type { BuiltLaw, ComparedLaw, Laboratory } from './laboratory.ts'
import { ask, daysOf, isInForce, viewOf, TODAY } from './surface.ts'
import type { Answer, HeldPassage, Probe, Surface } from './surface.ts'

/** A guarantee that does not hold. */
export interface Violation {
  readonly rule: string
  readonly what: string
}

export interface Pair {
  readonly active: BuiltLaw
  readonly candidate: BuiltLaw
  readonly before: Surface
  readonly after: Surface
}

/** Returns each difference of what both versions serve that no listed change names, or no acceptance is asked for. */
export async function unnamedChanges(
  laboratory: Laboratory,
  pair: Pair,
  comparison: ComparedLaw,
): Promise<readonly Violation[]> {
  const { named } = comparison
  const tables = [...passageChanges(pair, named), ...tableChanges(pair, named), ...questionSetChanges(pair, named)]
  const acceptances = missingAcceptances(pair, comparison)
  return [
    ...tables,
    ...acceptances,
    ...(await probeChanges(laboratory, pair, named)),
    ...(await answerChanges(laboratory, pair, named)),
  ]
}

const keyOf = (document: string, language: string, provision: string, day: string): string =>
  [document, language, provision, day].join('|')
const heldKey = ({ document, metadata, provision, in_force_from: day }: HeldPassage): string =>
  keyOf(document['id'] ?? '', metadata.language, provision, day)

function keysListed(named: readonly NamedChange[], kinds: readonly string[]): ReadonlySet<string> {
  return new Set(
    named.flatMap((change) =>
      'day' in change && kinds.includes(change.kind)
        ? [keyOf(change.document.id, change.language, change.provision, change.day)]
        : [],
    ),
  )
}

/** The passages of one side whose view the other side lacks. */
export function unmatched(own: Surface, other: Surface): readonly HeldPassage[] {
  const counts = new Map<string, number>()
  for (const passage of other.passages) counts.set(viewOf(passage), (counts.get(viewOf(passage)) ?? 0) + 1)
  return own.passages.filter((passage) => {
    const left = counts.get(viewOf(passage)) ?? 0
    counts.set(viewOf(passage), left - 1)
    return left <= 0
  })
}

function* passageChanges({ before, after }: Pair, named: readonly NamedChange[]): Generator<Violation> {
  const gone = keysListed(named, ['passages_removed', 'passages_changed'])
  const come = keysListed(named, ['passages_added', 'passages_repeated', 'passages_changed'])
  for (const passage of unmatched(before, after))
    if (!gone.has(heldKey(passage))) yield violation('a passage that is gone or changed is listed', passage)
  for (const passage of unmatched(after, before))
    if (!come.has(heldKey(passage))) yield violation('a passage that is new or changed is listed', passage)
}

export function violation(
  rule: string,
  { citation, text, in_force_from: from, in_force_to: to }: HeldPassage,
): Violation {
  return { rule, what: `${citation.label} (${from} to ${to ?? 'open'}): ${text.slice(0, 80)}` }
}

function* tableChanges({ before, after }: Pair, named: readonly NamedChange[]): Generator<Violation> {
  const removed = new Set(
    named.flatMap((change) => (change.kind === 'facet_values_removed' ? [`${change.facet} ${change.value}`] : [])),
  )
  for (const facet of ['languages', 'jurisdictions', 'subjects', 'statuses'])
    for (const value of before.facets[facet] ?? [])
      if (!(after.facets[facet] ?? []).includes(value) && !removed.has(`${facet} ${value}`))
        yield { rule: 'a facet value that is gone is listed', what: `${facet} ${value}` }
  const aliases = new Map(named.flatMap((change) => ('name' in change ? [[loose(change.name), change] as const] : [])))
  for (const name of new Set([...before.names.keys(), ...after.names.keys()]))
    if (before.names.get(name)?.join() !== after.names.get(name)?.join() && !aliases.has(loose(name)))
      yield { rule: 'a name that leads to another act is listed', what: name }
}

/** Words and numbers alone, so that the oracle compares names by a rule of its own. */
export function loose(text: string): string {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
  return words
    .replaceAll(/(?<=\p{L})(?=\p{N})|[^\p{L}\p{N}]+/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim()
}

function* questionSetChanges({ active, candidate }: Pair, named: readonly NamedChange[]): Generator<Violation> {
  const listed = new Set(named.flatMap((change) => (change.kind === 'questions_changed' ? [change.question] : [])))
  const own = new Map((candidate.sources.questions ?? []).map((question) => [question.id, question]))
  for (const question of active.sources.questions ?? []) {
    const other = own.get(question.id)
    const same = other !== undefined && other.text === question.text && sameQuestion(question, other)
    if (!same && !listed.has(question.id) && !listed.has(null))
      yield { rule: 'a question that is gone or changed is listed', what: question.id }
  }
}

function sameQuestion(one: NonNullable<BuiltLaw['sources']['questions']>[number], other: typeof one): boolean {
  const relevant = (ids: readonly string[]): string => ids.toSorted().join('|')
  return (
    relevant(one.relevant) === relevant(other.relevant) &&
    JSON.stringify(one.filters ?? {}) === JSON.stringify(other.filters ?? {})
  )
}

/** Additions need an acceptance beyond a share of the active version; everything else needs one. */
const FREE: ReadonlySet<ChangeKind> = new Set(['passages_added', 'documents_added'])

function* missingAcceptances({ before, after }: Pair, { compared, named }: ComparedLaw): Generator<Violation> {
  const { changes, worse, worse_on } = compared.comparison
  if (changes === undefined) {
    yield { rule: 'changes are counted', what: 'no changes' }
    return
  }
  const asked = kindsToAccept(
    { comparison: { version_id: '', changes, worse, worse_on: [...worse_on] } },
    DEFAULT_REVIEW_POLICY,
  )
  for (const kind of CHANGE_KINDS) {
    const lines = named.filter((change) => change.kind === kind).length
    if (lines !== changes.counts[kind]) yield { rule: 'counts are those of the listed changes', what: kind }
    if (lines > 0 && !FREE.has(kind) && !asked.some((one) => one.kind === kind && one.count === lines))
      yield { rule: 'a listed change needs an acceptance', what: `${lines} ${kind}` }
  }
  const added = unmatched(after, before).length - unmatched(before, after).length
  const accepted = asked.some(({ kind }) => kind.startsWith('passages_') || kind.startsWith('provisions_'))
  if (added > Math.ceil(before.passages.length / 10) && !accepted)
    yield { rule: 'many additions need an acceptance', what: `${added} passages` }
}

/** The passage of a citation may change only where a listed change names it, before or after. */
async function probeChanges(laboratory: Laboratory, pair: Pair, named: readonly NamedChange[]): Promise<Violation[]> {
  const violations: Violation[] = []
  if (named.some(({ kind }) => kind === 'references_changed')) return violations
  const renamed = named.flatMap((change) => ('name' in change ? [` ${loose(change.name)} `] : []))
  const touched = keysListed(named, ['passages_removed', 'passages_changed', 'passages_added', 'passages_repeated'])
  for (const probe of labelProbes(pair)) {
    // A name that a listed change gives to another act explains its own citations alone.
    if (renamed.some((name) => ` ${loose(probe.text)} `.includes(name))) continue
    const [own, other] = [
      await askedOnce(laboratory, pair.active, probe),
      await askedOnce(laboratory, pair.candidate, probe),
    ]
    const [was, is] = [citedBy(own, pair.before), citedBy(other, pair.after)]
    const same = (was === undefined ? '' : viewOf(was)) === (is === undefined ? '' : viewOf(is))
    const reasons = (answer: Answer): string =>
      answer.unsupported.map(({ normalized, reason }) => `${normalized} ${reason}`).join()
    if (same && reasons(own) === reasons(other)) continue
    const explained = [
      ...own.rows.map((row) => pair.before.passages[row]),
      ...other.rows.map((row) => pair.after.passages[row]),
    ].some((passage) => passage !== undefined && touched.has(heldKey(passage)))
    if (explained) continue
    violations.push({
      rule: 'the answer to a citation changes by a listed change only',
      what: `"${probe.text}" on ${probe.day}: ${was?.citation.label ?? 'nothing'} is now ${is?.citation.label ?? 'nothing'}`,
    })
  }
  return violations
}

/** A citation of what is not served finds passages by its words, whose order follows every text. */
function citedBy({ rows, named }: Answer, { passages }: Surface): HeldPassage | undefined {
  return named ? passages[rows[0] ?? -1] : undefined
}

const PROBES_MAX = 40

/** Each label of both versions, on the days around the ends of its passages. */
function labelProbes({ before, after }: Pair): readonly Probe[] {
  const byLabel = new Map<string, HeldPassage[]>()
  for (const passage of [...unmatched(before, after), ...unmatched(after, before), ...before.passages])
    byLabel.set(passage.citation.label, [...(byLabel.get(passage.citation.label) ?? []), passage])
  const probes = [...byLabel].flatMap(([text, passages]) => daysOf(passages).map((day) => ({ text, day })))
  return probes.slice(0, PROBES_MAX)
}

const answers = new WeakMap<BuiltLaw, Map<string, Answer>>()

/** The active version of many cases is asked the same citations. */
async function askedOnce(laboratory: Laboratory, law: BuiltLaw, probe: Probe): Promise<Answer> {
  const known = answers.get(law) ?? new Map<string, Answer>()
  answers.set(law, known)
  const key = JSON.stringify(probe)
  const answer = known.get(key) ?? (await ask(laboratory, law, probe))
  known.set(key, answer)
  return answer
}

/** A question of the active version's set whose answer from evidence is lost or wrong is listed by its id. */
async function answerChanges(laboratory: Laboratory, pair: Pair, named: readonly NamedChange[]): Promise<Violation[]> {
  const listed = new Set(
    named.flatMap((change) =>
      change.kind === 'answers_lost' || change.kind === 'answers_wrong' ? [change.question] : [],
    ),
  )
  const violations: Violation[] = []
  for (const { id, text, relevant, filters } of pair.active.sources.questions ?? []) {
    const probe = { text, day: filters?.in_force_on ?? TODAY, filters }
    const [own, other] = [
      await askedOnce(laboratory, pair.active, probe),
      await askedOnce(laboratory, pair.candidate, probe),
    ]
    const rank = (answer: Answer, { passages }: Surface): number =>
      answer.rows.findIndex((row) => relevant.includes(passages[row]?.source_id ?? ''))
    const [was, is] = [rank(own, pair.before), rank(other, pair.after)]
    const answered = own.decision === 'answer' && was >= 0
    const lost = answered && (other.decision === 'abstain' || is < 0 || (was === 0 && is > 0))
    const invented = relevant.length === 0 && own.decision === 'abstain' && other.decision === 'answer'
    if ((lost || invented) && !listed.has(id))
      violations.push({
        rule: 'an answer that is lost or becomes wrong is listed',
        what: `${id}: ${text.slice(0, 80)}`,
      })
  }
  return violations
}

/** Returns each law that a version may not serve, however it came there. */
export function brokenLaws({ candidate, before, after }: Pair): readonly Violation[] {
  const known = new Set([...contradictions(before)].map(({ what }) => what))
  const violations = [...contradictions(after)].filter(({ what }) => !known.has(what))
  for (const { name, accepted } of candidate.report.losses)
    if (!accepted) violations.push({ rule: 'a loss refuses the import unless it is accepted by name', what: name })
  for (const [name, acts] of after.names)
    if (acts.length > 1 && (before.names.get(name)?.length ?? 0) < 2)
      violations.push({ rule: 'a name means one act', what: `${name}: ${acts.join(', ')}` })
  const open = new Set(before.passages.map(({ text, in_force_to: to }) => `${to} ${text}`))
  for (const passage of after.passages) {
    const { in_force_to: to, text } = passage
    if (to === null || open.has(`${to} ${text}`) || isStated(candidate, to) || hasSuccessor(passage, after)) continue
    violations.push(violation('only a stated end or a later text that is served ends a text', passage))
  }
  return violations
}

/** Two texts that are served on one day under one citation of one jurisdiction and language. */
function* contradictions({ passages }: Surface): Generator<Violation> {
  const byLabel = new Map<string, HeldPassage[]>()
  for (const passage of passages) {
    const { metadata, citation } = passage
    if (metadata.verification_status !== 'verified') continue
    const key = [
      metadata.jurisdiction.toLowerCase(),
      metadata.language.slice(0, 2).toLowerCase(),
      loose(citation.label),
    ].join('|')
    for (const other of byLabel.get(key) ?? [])
      if (other.source_id !== passage.source_id && other.text !== passage.text && overlap(other, passage))
        yield {
          rule: 'one citation has one text on one day',
          what: `${citation.label}: ${[other.text, passage.text]
            .map((text) => text.slice(0, 50))
            .toSorted()
            .join(' / ')}`,
        }
    byLabel.set(key, [...(byLabel.get(key) ?? []), passage])
  }
}

function overlap(one: HeldPassage, other: HeldPassage): boolean {
  const day = one.in_force_from > other.in_force_from ? one.in_force_from : other.in_force_from
  return isInForce(one, day) && isInForce(other, day)
}

/** Whether a source or the mapping states this day as an end. */
function isStated({ sources: { files, mapping = {} } }: BuiltLaw, day: string): boolean {
  const stated = new RegExp(`(?:effective_to|to|until)"?: *"?${day}`)
  return [...files.values(), JSON.stringify(mapping)].some((text) => stated.test(text))
}

function hasSuccessor({ in_force_to: day, document, metadata }: HeldPassage, { passages }: Surface): boolean {
  return passages.some(
    (other) =>
      other.in_force_from === day &&
      other.document['id'] === document['id'] &&
      other.metadata.jurisdiction === metadata.jurisdiction &&
      other.metadata.verification_status === 'verified',
  )
}
