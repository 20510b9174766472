import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertArtifactAsRecorded } from '#jobs/review/files.ts'
import { isRefused, type BuiltLaw, type Laboratory } from '../laboratory.ts'
import { editInPlace } from './artifact.ts'
import { refusalOf, type Attack, type AttackResult } from './attack.ts'

/** What the comparison reads is altered after the candidate was built and before both are compared. */
export const COMPARED: Attack = {
  name: 'alters bytes between evaluation and comparison',
  row: 'bytes',
  async run(laboratory, law, draw) {
    const candidate = await laboratory.build(
      law.sources,
      law.report.losses.map(({ name }) => name),
    )
    if (isRefused(candidate)) throw new Error(`the active sources are refused: ${candidate.message}`)
    using ending = new DisposableStack()
    ending.defer(() => laboratory.discard(candidate))
    const side = draw.pick([law, candidate])
    const restore = bytesOf(side.artifact.folder)
    try {
      const edit = editInPlace(side.artifact.folder, draw)
      return await compared(laboratory, { law, candidate, side }, `${side === law ? 'active' : 'candidate'}: ${edit}`)
    } finally {
      for (const [path, bytes] of restore) writeFileSync(path, bytes)
    }
  },
}

function bytesOf(folder: string): ReadonlyMap<string, Buffer> {
  return new Map(readdirSync(folder).map((name) => [join(folder, name), readFileSync(join(folder, name))]))
}

/** Equal sources have no change to list, so that whatever differs comes from the altered bytes. */
async function compared(
  laboratory: Laboratory,
  { law, candidate, side }: { readonly law: BuiltLaw; readonly candidate: BuiltLaw; readonly side: BuiltLaw },
  what: string,
): Promise<AttackResult> {
  const { versionId: id, manifestDigest: manifest_digest } = side.artifact
  const gate = await refusalOf(() => assertArtifactAsRecorded(laboratory.store, { id, manifest_digest }))
  const refused = await refusalOf(async () => {
    const comparison = await laboratory.compare(law, candidate)
    if (isRefused(comparison)) throw new Error(comparison.message)
  })
  // A derived table that was altered may change answers, which are listed; signing refuses it.
  const missed = gate === undefined
  const violations = [
    ...(missed ? [{ rule: 'altered bytes are refused', what: `by review and activation: ${what}` }] : []),
    ...(refused === undefined && /passages\.jsonl|references\.json|manifest\./.test(what)
      ? [{ rule: 'altered bytes are not compared', what }]
      : []),
  ]
  return { what, refused: refused ?? gate, violations }
}
