/**
 * Shows and signs the statement of a review of the Evidence Retrieval Service. One file, without dependencies, for
 * Node 20 and later. Apache-2.0.
 *
 *   node sign-review.mjs --keygen FILE
 *   node sign-review.mjs --statement FILE [--report FILE] [--figures FILE] [--changes FILE] [--key FILE [--yes]]
 *
 * --keygen     writes a new private key, which its owner alone may read, and prints the public key for the operator
 * --statement  what "operator review statement" wrote
 * --report, --figures, --changes  the files that were read; each must be the one that the statement names
 * --key        Ed25519 private key in PEM; signs after the verdict was typed. An approval needs --report and, where the
 *              statement names changes, --changes. Without a key the statement is only shown
 * --yes        signs without asking
 *
 * The signature is written beside the statement, as FILE.sig, for "operator review sign".
 * Exit code 0: shown or signed; 1: refused, with the reason.
 */
import { createHash, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'

const STATEMENT_BYTES_MAX = 1024 * 1024
const FILE_BYTES_MAX = 1024 * 1024 * 1024
const FILES = ['report', 'figures', 'changes']
const HEX = /^[0-9a-f]{64}$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

class Refused extends Error {}

const isText = (value) => typeof value === 'string'
const isCount = (value) => Number.isSafeInteger(value) && value >= 0
const isId = (value) => isText(value) && UUID.test(value)
const isDigest = (value) => isText(value) && HEX.test(value)
const orNull = (is) => (value) => value === null || is(value)
const listOf = (is) => (value) => Array.isArray(value) && value.every(is)
/** Exactly these fields. */
const objectOf = (shape) => (value) =>
  value !== null &&
  typeof value === 'object' &&
  !Array.isArray(value) &&
  Object.keys(value).length === Object.keys(shape).length &&
  Object.entries(shape).every(([name, is]) => Object.hasOwn(value, name) && is(value[name]))

/** What a review signs. A field that this program does not show is refused. */
const isStatement = objectOf({
  format: (value) => value === 'evidence review 1',
  knowledge_base: objectOf({ id: isId, slug: isText }),
  candidate: isId,
  predecessor: orNull(isId),
  predecessor_activation: orNull(isCount),
  manifest_sha256: isDigest,
  profile: objectOf({ id: isId, sha256: isDigest }),
  report_sha256: isDigest,
  figures_sha256: isDigest,
  changes_sha256: orNull(isDigest),
  question_set: orNull(isDigest),
  withdrawals_decided: listOf(isId),
  withdrawals_restored: listOf(isId),
  verdict: (value) => value === 'approved' || value === 'rejected',
  accepts: listOf(objectOf({ kind: isText, count: isCount })),
  note: isText,
  reviewer: objectOf({ id: isId, name: isText }),
  audit_head: orNull(objectOf({ seq: isCount, hash: isDigest })),
})

/** Keys sorted at every level, no white space. */
function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
}

/** A text in quotes, with characters that do not show or that turn a line around as code points. */
function quoted(text) {
  const shown = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign_) => `[U+${sign_.codePointAt(0).toString(16)}]`)
  return `"${shown}"`
}

function readBounded(path, bytesMax) {
  try {
    if (statSync(path).size <= bytesMax) return readFileSync(path)
  } catch (error) {
    throw new Refused(`${path} cannot be read: ${error.code}`)
  }
  throw new Refused(`${path} has more than ${bytesMax} bytes`)
}

/** Writes a new file; one that exists is never overwritten. */
function writeNew(path, bytes, mode) {
  try {
    writeFileSync(path, bytes, { flag: 'wx', mode })
  } catch (error) {
    throw new Refused(`${path} cannot be written: ${error.code === 'EEXIST' ? 'it exists already' : error.code}`)
  }
}

function readStatement(path) {
  const text = readBounded(path, STATEMENT_BYTES_MAX).toString('utf8')
  let statement
  try {
    statement = JSON.parse(text)
  } catch {
    throw new Refused(`${path} is not JSON`)
  }
  if (!isStatement(statement))
    throw new Refused(`${path} is no statement of a review, or holds more than this program shows`)
  if (canonicalJson(statement) !== text)
    throw new Refused(`${path} is not written as "operator review statement" writes it`)
  return { text, statement }
}

/** @throws Refused for a file that is not the one that the statement names. */
function fileInWords(statement, name, path) {
  const digest = statement[`${name}_sha256`]
  if (digest === null) {
    if (path !== undefined) throw new Refused(`the statement names no ${name}: no version was active before`)
    return 'none'
  }
  if (path === undefined) return `not given; SHA-256 ${digest}`
  if (createHash('sha256').update(readBounded(path, FILE_BYTES_MAX)).digest('hex') !== digest)
    throw new Refused(`${path} is not the ${name} that the statement names: ask the operator for that file`)
  return `${path}, as the statement names it`
}

function statementInWords(statement, files) {
  const { knowledge_base: base, verdict, predecessor, accepts, withdrawals_decided: decided } = statement
  const accepted = accepts.map(({ kind, count }) => `${quoted(kind)} (${count})`).join(', ')
  const restored = statement.withdrawals_restored.length
  return [
    ['knowledge base', quoted(base.slug)],
    ['verdict', verdict],
    ['version', statement.candidate],
    ['in place of', predecessor ?? 'none: it is the first version'],
    ['accepts', accepted === '' ? 'nothing beyond the limits' : accepted],
    [
      'withdrawals',
      decided.length === 0
        ? 'all apply'
        : `${decided.length} do not apply to it; passages of ${restored} are served again`,
    ],
    ['note', quoted(statement.note)],
    ['reviewer', quoted(statement.reviewer.name)],
    ['manifest', `SHA-256 ${statement.manifest_sha256}`],
    ['decision', `profile ${statement.profile.id}, SHA-256 ${statement.profile.sha256}`],
    ['questions', statement.question_set ?? 'known items'],
    ['audit trail', statement.audit_head === null ? 'empty' : `up to row ${statement.audit_head.seq}`],
    ...FILES.map((name) => [name, fileInWords(statement, name, files[name])]),
  ]
    .map(([name, value]) => `  ${name.padEnd(15)} ${value}`)
    .join('\n')
}

function signingKey(path) {
  try {
    const key = createPrivateKey(readBounded(path, STATEMENT_BYTES_MAX))
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch (error) {
    if (error instanceof Refused) throw error
  }
  throw new Refused(`${path} is no Ed25519 private key in PEM without a passphrase`)
}

async function confirmed(verdict) {
  if (process.stdin.isTTY !== true) throw new Refused('there is no terminal to ask on: add --yes to sign')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const typed = await terminal.question(`Type "${verdict}" to sign: `)
  terminal.close()
  if (typed.trim() !== verdict) throw new Refused('not signed')
}

async function signed({ statement: path, key, yes, ...files }) {
  const { text, statement } = readStatement(path)
  process.stdout.write(`What ${path} signs:\n${statementInWords(statement, files)}\n`)
  if (key === undefined) return
  const needed =
    statement.verdict === 'approved'
      ? FILES.filter((name) => name !== 'figures' && statement[`${name}_sha256`] !== null)
      : []
  for (const name of needed)
    if (files[name] === undefined) throw new Refused(`an approval needs the file that was read: give --${name}`)
  const privateKey = signingKey(key)
  if (yes !== true) await confirmed(statement.verdict)
  writeNew(`${path}.sig`, sign(null, Buffer.from(text, 'utf8'), privateKey))
  process.stdout.write(`Signed: ${path}.sig. Give it to the operator with ${path}:\n`)
  process.stdout.write(
    `  operator review sign --statement ${path} --signature ${path}.sig --reviewer ${quoted(statement.reviewer.name)}\n`,
  )
}

function keygen(path) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  writeNew(path, privateKey.export({ format: 'pem', type: 'pkcs8' }), 0o600)
  process.stdout.write(publicKey.export({ format: 'pem', type: 'spki' }))
}

try {
  const text = { type: 'string' }
  const options = {
    keygen: text,
    statement: text,
    report: text,
    figures: text,
    changes: text,
    key: text,
    yes: { type: 'boolean' },
  }
  const { values } = parseArgs({ options })
  if (values.keygen !== undefined && Object.keys(values).length === 1) keygen(values.keygen)
  else if (values.statement !== undefined && values.keygen === undefined) await signed(values)
  else throw new Refused('give --statement FILE, or --keygen FILE alone')
} catch (error) {
  if (!(error instanceof Refused) && error.code?.startsWith('ERR_PARSE_ARGS') !== true) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
