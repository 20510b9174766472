/**
 * Proves or refutes the passages of a saved reply of the Evidence Retrieval Service. One file, without dependencies,
 * for Node 20 and later. Apache-2.0.
 *
 *   node verify-reply.mjs --reply FILE --trace URL|FOLDER --public-key BASE64 [--day DAY] [--head FILE] [--snapshot FILE]
 *
 * --reply       the body of a reply with status 200, as it was received
 * --trace       address of the public source trace, or a downloaded copy
 * --public-key  the operator's Ed25519 public key (SPKI, DER), from the operator; several, separated by commas
 * --day         YYYY-MM-DD: every passage was in force on that day; default: the day of a version that serves one day
 * --head        a head.json that was saved earlier: the history has only been extended since
 * --snapshot    the captured bytes of a source in Markdown, JSONL or XML: passages that were read from it stand in it,
 *               at their place
 *
 * Proved are text, document, citation, metadata and days in force of each passage, and that the operator signed and activated its
 * version with the approvals of reviewers. Score and decision are not.
 * Exit code 0: proved; 2: refuted, with the field; 1: could not be checked.
 */
import { createDecipheriv, createHash, createPublicKey, verify } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const MIB = 1024 * 1024
/** Bytes of each file that is read. */
const BYTES_MAX = {
  reply: 4 * MIB,
  small: MIB,
  proofs: 4 * MIB,
  chain: 64 * MIB,
  sources: 256 * MIB,
  line: 8 * MIB,
  xml: 32 * MIB,
}
const REQUEST_TIMEOUT_MS = 30_000
const TIMEOUT_MS = 600_000
const RESULTS_MAX = 1_000
const ACTIVATIONS_MAX = 50
const KEYS_MAX = 8
const PROOFS_IN_FILE_MAX = 64
/** Stands between a repeated introduction and the passage's own text. */
const GAP = '\n[…]\n'
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/

class Refuted extends Error {
  constructor(field, message) {
    super(`${field}: ${message}`)
  }
}
class Unchecked extends Error {}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest()
const hex = (bytes) => sha256(bytes).toString('hex')
/** Only a string is a text: an array of one becomes the same string. */
const textDigest = (value) => (typeof value === 'string' ? hex(value) : undefined)

/** Keys sorted at every level, no white space. */
function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
}

function parsed(bytes, what) {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new Unchecked(`${what} is not JSON`)
  }
}

/** Reads a file or the body of a reply, up to a bound. `openIt` gives its blocks. */
async function readBounded(name, bytesMax, openIt) {
  const blocks = []
  let bytes = 0
  try {
    for await (const block of await openIt()) {
      bytes += block.length
      if (bytes > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`)
      blocks.push(block)
    }
  } catch (error) {
    throw new Unchecked(`${name} cannot be read: ${error.cause?.code ?? error.message}`)
  }
  return Buffer.concat(blocks)
}

const readFile = (path, bytesMax) => readBounded(path, bytesMax, () => createReadStream(path))
const fetchFile = (url, bytesMax) =>
  readBounded(url, bytesMax, async () => {
    const reply = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
    if (reply.status !== 200) throw new Error(`the answer is ${reply.status}`)
    return reply.body ?? []
  })

/** Reads files of the trace of one knowledge base by their path. */
function traceReader(trace, slug) {
  if (!/^https?:\/\//.test(trace)) return (path, bytesMax) => readFile(join(trace, slug, path), bytesMax)
  const base = `${trace.replace(/\/+$/, '')}/${slug}/`
  return (path, bytesMax) => fetchFile(new URL(path, base), bytesMax)
}

function publicKeys(text) {
  const parts = text.split(',')
  if (parts.length > KEYS_MAX) throw new Unchecked(`--public-key takes at most ${KEYS_MAX} keys`)
  return parts.map((part) => {
    try {
      return createPublicKey({ key: Buffer.from(part.trim(), 'base64'), format: 'der', type: 'spki' })
    } catch {
      throw new Unchecked('--public-key is the base64 of an Ed25519 public key (SPKI, DER)')
    }
  })
}

function signatureHolds(bytes, signature, keys) {
  return signature.length === 64 && keys.some((key) => verify(null, bytes, key, signature))
}

/** Keys of a value that was parsed, at every level. */
function keysIn(value) {
  if (value === null || typeof value !== 'object') return 0
  const inner = Object.values(value).reduce((sum, each) => sum + keysIn(each), 0)
  return Array.isArray(value) ? inner : inner + Object.keys(value).length
}

/** A reply of status 200. Of a key that is given twice, other programs may show the one that is not proved. */
function parseReply(bytes) {
  const reply = parsed(bytes, 'the reply')
  if (reply?.error !== undefined) throw new Unchecked('the reply is an error: only replies of status 200 have passages')
  const { knowledge_base: slug = '', version = '', results } = reply ?? {}
  if (!SLUG.test(slug) || !UUID.test(version) || !Array.isArray(results) || results.length > RESULTS_MAX)
    throw new Unchecked('the file is no reply of status 200')
  if (results.length === 0) throw new Unchecked('nothing to prove: the reply has no passage')
  const strings = [...bytes.toString('utf8').matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)]
  if (strings.filter(([, colon]) => colon).length !== keysIn(reply)) throw new Refuted('reply', 'has a key twice')
  return { slug, version, results }
}

/** Every entry is signed, states the digest of the one before, and is of this knowledge base. */
function checkChain(bytes, slug, keys) {
  const lines = bytes.toString('utf8').split('\n').slice(0, -1)
  if (lines.length === 0) throw new Unchecked('the trace has no version chain')
  let [previous, sequence] = [null, 0]
  return lines.map((line) => {
    const { entry: text, signature } = parsed(line, 'an entry of the version chain')
    const entry = parsed(String(text), 'an entry of the version chain')
    const field = `chain/${entry.sequence}`
    if (!signatureHolds(Buffer.from(text), Buffer.from(String(signature), 'base64'), keys))
      throw new Refuted(`${field}/signature`, 'was not made with the public key')
    if (entry.format !== 'evidence version chain 1' || entry.knowledge_base?.slug !== slug)
      throw new Refuted(`${field}/knowledge_base`, `is not ${slug}`)
    if (entry.previous_sha256 !== previous || !(entry.sequence > sequence))
      throw new Refuted(`${field}/previous_sha256`, 'is not the digest of the entry before: the history was replaced')
    previous = hex(text)
    sequence = entry.sequence
    return { text, entry }
  })
}

/** The chain still has the entry that was its newest. */
function checkHead(bytes, chain, keys) {
  const { entry: text, signature } = parsed(bytes, 'the head')
  if (!signatureHolds(Buffer.from(String(text)), Buffer.from(String(signature), 'base64'), keys))
    throw new Refuted('head/signature', 'was not made with the public key')
  if (!chain.some((link) => link.text === text))
    throw new Refuted('head', `entry ${parsed(text, 'the head').sequence} of the history was replaced or removed`)
}

/** What an activation rested on is what was signed, and so are the approvals of reviewers. */
function checkRecord(bytes, { sequence, record_sha256: digest, version_id: version, manifest_sha256: manifest }) {
  const field = `chain/${sequence}/record`
  if (hex(bytes) !== digest) throw new Refuted(field, 'is not the one that was signed')
  for (const { reviewer, public_key: key, statement, signature } of parsed(bytes, field).approvals) {
    if (!signatureHolds(Buffer.from(statement), Buffer.from(signature, 'base64'), publicKeys(key)))
      throw new Refuted(`${field}/approvals`, `the signature of ${reviewer.name} does not hold`)
    const { candidate, manifest_sha256: approved } = parsed(statement, field)
    if (candidate !== version || approved !== manifest)
      throw new Refuted(`${field}/approvals`, `${reviewer.name} approved another version`)
  }
}

async function checkManifest(read, version, entries, keys) {
  const bytes = await read(`versions/${version}/manifest.json`, BYTES_MAX.small)
  if (!signatureHolds(bytes, await read(`versions/${version}/manifest.sig`, BYTES_MAX.small), keys))
    throw new Refuted('manifest/signature', 'was not made with the public key')
  const manifest = parsed(bytes, 'the manifest')
  if (manifest.version_id !== version || entries.some(({ manifest_sha256: digest }) => digest !== hex(bytes)))
    throw new Refuted('manifest', `is not the one with which version ${version} was activated`)
  return manifest
}

/** Finds and opens the proof of a passage. Name and key are digests of version and chunk_id. */
async function openProof(read, { version_id: version, passages }, chunkId, field) {
  const digest = (use) => sha256(`evidence trace 1 ${use} ${version} ${chunkId}`)
  const name = digest('name').toString('hex')
  let digits = 1
  while (passages > PROOFS_IN_FILE_MAX * 16 ** digits) digits += 1
  const lines = await read(`versions/${version}/proofs/${name.slice(0, digits)}.jsonl`, BYTES_MAX.proofs)
  const line = String(lines)
    .split('\n')
    .find((each) => each.includes(name))
  if (line === undefined) throw new Refuted(`${field}/chunk_id`, `version ${version} holds no such passage`)
  try {
    const sealed = Buffer.from(JSON.parse(line).sealed, 'base64')
    const cipher = createDecipheriv('aes-256-gcm', digest('key'), Buffer.alloc(12))
    cipher.setAuthTag(sealed.subarray(-16))
    return JSON.parse(Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]).toString('utf8'))
  } catch {
    throw new Refuted(`${field}/chunk_id`, 'its proof in the trace was altered')
  }
}

/** Root of the Merkle tree (RFC 6962, section 2.1) that a leaf, its row and the hashes beside its way lead to. */
function rootOf({ leaf, row, path }, passages) {
  let [hash, beside] = [sha256(`\0${canonicalJson(leaf)}`), 0]
  for (let [node, nodes] = [row, passages]; nodes > 1; node >>= 1, nodes = Math.ceil(nodes / 2)) {
    if ((node ^ 1) >= nodes) continue
    const other = Buffer.from(path[beside++] ?? '', 'base64')
    hash = sha256(Buffer.concat([Buffer.of(1), ...(node % 2 === 0 ? [hash, other] : [other, hash])]))
  }
  return beside === path.length && row < passages ? hash.toString('hex') : undefined
}

const RESULT_FIELDS = new Set(['chunk_id', 'text', 'score', 'document', 'citation', 'metadata'])
const CITATION_FIELDS = new Set(['label', 'source_anchor', 'source_snapshot_id'])

/** Says of each passage from when to when it is in force. A passage that is not in force on the day is refuted. */
function checkDay(day, leaves) {
  if (day !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new Unchecked('--day is a day, YYYY-MM-DD')
  const lines = leaves.map(({ in_force: days }, at) => {
    if (days === undefined && day !== undefined)
      throw new Unchecked(`results/${at}: its version was built before days in force were signed`)
    if (day !== undefined && (day < days.from || (days.to !== null && day >= days.to)))
      throw new Refuted(`results/${at}`, `is in force from ${days.from}${until(days)}, not on ${day}`)
    return days === undefined ? '' : `\nresults/${at}: in force from ${days.from}${until(days)}`
  })
  return `${day === undefined ? '; day not proved' : `; in force on ${day}`}${lines.join('')}`
}

const until = ({ to }) => (to === null ? '' : ` until before ${to}`)

/** @returns the leaf that was proved. */
async function checkPassage(read, manifest, result, field) {
  if (!/^chk_[0-9a-f]{40}$/.test(result?.chunk_id)) throw new Refuted(`${field}/chunk_id`, 'is none')
  const proof = await openProof(read, manifest, result.chunk_id, field)
  if (rootOf(proof, manifest.passages) !== manifest.merkle_root)
    throw new Refuted(`${field}/chunk_id`, 'its proof does not lead to the Merkle root of the signed manifest')
  const { leaf } = proof
  const { text, document, citation, metadata } = result
  // A field that is not proved could be taken for one that is.
  for (const [name, value, known] of [
    [field, result, RESULT_FIELDS],
    [`${field}/citation`, citation, CITATION_FIELDS],
  ]) {
    const unknown = Object.keys(value ?? {}).find((each) => !known.has(each))
    if (unknown !== undefined) throw new Refuted(`${name}/${unknown}`, 'is no field of a reply')
  }
  const stated = [
    ['chunk_id', leaf.chunk_id, result.chunk_id],
    ['text', leaf.text_sha256, textDigest(text)],
    ['document', leaf.document_sha256, hex(canonicalJson(document ?? null))],
    ['citation/label', leaf.citation.label_sha256, textDigest(citation?.label)],
    ['citation/source_anchor', leaf.citation.source_anchor_sha256, textDigest(citation?.source_anchor)],
    ['citation/source_snapshot_id', leaf.citation.source_snapshot_id, citation?.source_snapshot_id],
    ['metadata', leaf.metadata_sha256, hex(canonicalJson(metadata ?? null))],
  ]
  for (const [name, signed, served] of stated)
    if (signed !== served) throw new Refuted(`${field}/${name}`, `is not what version ${manifest.version_id} holds`)
  return leaf
}

/** Passages that were read from the file stand at their place in it. @returns what was proved. */
async function checkSnapshot(path, read, manifest, results, leaves) {
  const sources = await read(`versions/${manifest.version_id}/sources.jsonl`, BYTES_MAX.sources)
  if (hex(sources) !== manifest.files['sources.jsonl'].sha256)
    throw new Refuted('sources', 'are not those of the signed manifest')
  const lines = sources.toString('utf8').split('\n').filter(Boolean)
  const known = new Map(lines.map((line) => parsed(line, 'sources.jsonl')).map(({ id, sha256: of }) => [id, of]))
  const hash = createHash('sha256')
  for await (const block of createReadStream(path)) hash.update(block)
  const digest = hash.digest('hex')
  const from = [...leaves.keys()].filter((at) => known.get(leaves[at].citation.source_snapshot_id) === digest)
  if (from.length === 0 && leaves.some(({ selector }) => selector.original?.sha256 === digest))
    throw new Unchecked(
      'the snapshot is the original of a corrected draft: give the draft, from which passages were read',
    )
  if (from.length === 0)
    throw new Refuted('snapshot', `no passage of the reply was read from bytes with the SHA-256 ${digest}`)
  const paths = from.flatMap((at) => (leaves[at].selector.type === 'XPathSelector' ? leaves[at].selector.value : []))
  const elements = paths.length === 0 ? undefined : xmlElements(await readFile(path, BYTES_MAX.xml), new Set(paths))
  const file = await open(path)
  try {
    for (const at of from) {
      const { selector } = leaves[at]
      const found = selector.type === 'XPathSelector' ? textIn(elements, selector) : await textAt(file, selector)
      if (!isOwn(results[at].text, selector, found))
        throw new Refuted(`results/${at}/text`, 'does not stand at its place in the snapshot')
    }
  } finally {
    await file.close()
  }
  return `, the place of ${from.length} passages in the snapshot`
}

/** Whether a passage's own text, below an introduction that is repeated and without what its reader added, is found. */
function isOwn(text, { adds }, found) {
  if (adds === undefined) return found !== '' && (text === found || text.endsWith(`${GAP}${found}`))
  const gap = text.lastIndexOf(GAP)
  const points = Array.from(text.slice(gap === -1 ? 0 : gap + GAP.length))
  for (const { start, end } of adds) points.fill('', start, end)
  const [own, bare] = [points.join(''), found].map((each) => each.replaceAll(/\s+/g, ''))
  return bare !== '' && own === bare
}

const unread = (kind) =>
  new Unchecked(`places in ${kind} are not read by this program; all else of the reply is proved`)

/** Places are in the manner of W3C Web Annotation: bytes of a file, or code points of a string in a line of JSON. */
async function textAt(file, selector) {
  const bytes = async (start, length) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(length, BYTES_MAX.line)), 0, null, start)
    return buffer.subarray(0, bytesRead)
  }
  if (selector.type === 'DataPositionSelector') {
    const pieces = []
    let at = selector.start
    for (const { start, end } of [...(selector.omits ?? []), { start: selector.end, end: selector.end }]) {
      pieces.push(await bytes(at, Math.max(0, start - at)))
      at = end
    }
    return Buffer.concat(pieces).toString('utf8').replaceAll('\r\n', '\n')
  }
  if (selector.type === 'PdfSelector') throw unread('a PDF (PdfSelector)')
  if (selector.type !== 'JsonPointerSelector') throw unread(`a ${selector.type}`)
  const [line] = (await bytes(selector.offset, BYTES_MAX.line)).toString('utf8').split('\n', 1)
  let value = parsed(line, 'a line of the snapshot')
  for (const token of selector.pointer.split('/').slice(1))
    value = value?.[token.replaceAll('~1', '/').replaceAll('~0', '~')]
  return typeof value === 'string' ? pointsOf(value, selector) : ''
}

function pointsOf(text, { start, end }) {
  let [unit, from, point] = [0, 0, 0]
  for (; point < end && unit < text.length; point += 1) {
    if (point === start) from = unit
    unit += text.codePointAt(unit) > 0xffff ? 2 : 1
  }
  return point === end ? text.slice(from, unit) : ''
}

/** Ranges of the text of an element; empty where there is none. */
function textIn(elements, { value, ranges }) {
  const parts = ranges.map((range) => pointsOf(elements.get(value) ?? '', range))
  return parts.includes('') ? '' : parts.join(' ')
}

const CHARACTERS = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }
const MARKS = [
  ['efbbbf', 'utf-8'],
  ['fffe', 'utf-16le'],
  ['feff', 'utf-16be'],
]
const QUOTED = `"[^"]*"|'[^']*'`
const XML_TOKEN = new RegExp(
  [
    '<!--[^]*?-->',
    String.raw`<\?[^]*?\?>`,
    String.raw`(?<doctype><!DOCTYPE(?:[^[\]<>"']|${QUOTED})*(?:\[[^\]]*\]\s*)?>)`,
    String.raw`<!\[CDATA\[(?<cdata>[^]*?)\]\]>`,
    String.raw`</(?<end>[^\s<>/]+)\s*>`,
    String.raw`<(?<name>[^\s<>/!?="']+)(?:\s+[^\s<>/="']+\s*=\s*(?:${QUOTED}))*\s*(?<empty>/?)>`,
    '(?<data>[^<]+)',
  ].join('|'),
  'giy',
)
/** Elements at which a reader of the service takes a file for a page. */
const PAGE = /^(?:html|head|body|meta|div|p|h1|main)$/i

/**
 * The text of elements of XML 1.0 by their XPath of positions. What is not plainly XML is left unchecked, as is what
 * needs a document type.
 */
function xmlElements(bytes, wanted) {
  if (bytes.subarray(0, 2).toString() === 'PK') throw unread('a Word document (XPathSelector)')
  const xml = decodedXml(bytes).replaceAll(/\r\n?/g, '\n')
  const fault = (why) => new Unchecked(`the XML of the snapshot is not read by this program: ${why}`)
  if (/^<\?xml[^>]*?\sversion\s*=\s*["'](?!1\.0["'])/.test(xml)) throw fault('it is not XML 1.0')
  const [found, within] = [new Map(), [{ path: '', elements: 0 }]]
  let [read, text] = [0, '']
  const add = (piece) => {
    if (within.length === 1 && piece.trim() !== '') throw fault('text stands outside of its elements')
    text += piece
  }
  for (const { 0: token, groups } of xml.matchAll(XML_TOKEN)) {
    read += token.length
    const { doctype, cdata, end, name, empty, data } = groups
    if (doctype !== undefined) {
      if (/^<!DOCTYPE\s+html/i.test(doctype) && !xml.startsWith('<?xml')) throw unread('a web page (XPathSelector)')
      if (/<!ENTITY/i.test(doctype)) throw fault('it declares entities')
    }
    if (data !== undefined) add(data.replaceAll(/&(?:#x([\da-f]+)|#(\d+)|(\w+))?;?/gi, resolved))
    if (cdata !== undefined) add(cdata)
    if (name !== undefined) {
      if (within.length === 1 && PAGE.test(name.replace(/^.*:/, ''))) throw unread('a web page (XPathSelector)')
      const parent = within.at(-1)
      parent.elements += 1
      within.push({ name, path: `${parent.path}/*[${parent.elements}]`, from: text.length, elements: 0 })
    }
    if (end !== undefined || empty === '/') {
      const { name: opened, path, from } = within.pop()
      if (within.length === 0 || (end ?? opened) !== opened) throw fault('its tags do not match')
      if (wanted.has(path)) found.set(path, [from, text.length])
    }
  }
  if (read !== xml.length || within.length !== 1 || within[0].elements !== 1) throw fault('it is not well-formed')
  return new Map([...found].map(([path, range]) => [path, text.slice(...range)]))

  function resolved(reference, sixteen, ten, name) {
    const known = reference.endsWith(';') && (name === undefined || Object.hasOwn(CHARACTERS, name))
    if (!known || reference === '&;') throw fault('it has a reference that is not known')
    return name === undefined ? String.fromCodePoint(Number(ten ?? `0x${sixteen}`)) : CHARACTERS[name]
  }
}

/** Decodes XML by its byte order mark, else by the encoding that it declares, else as UTF-8. */
function decodedXml(bytes) {
  const mark = MARKS.find(([start]) => bytes.toString('hex', 0, 3).startsWith(start))
  const declared = /^<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']/.exec(bytes.toString('latin1', 0, 200))
  const encoding = mark?.[1] ?? declared?.[1] ?? 'utf-8'
  try {
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
    return decoder.decode(bytes.subarray((mark?.[0].length ?? 0) / 2))
  } catch {
    throw new Unchecked(`the bytes of the snapshot are not in its encoding ${encoding}`)
  }
}

async function main() {
  const text = { type: 'string' }
  const options = { reply: text, trace: text, 'public-key': text, head: text, snapshot: text, day: text }
  const { values } = parseArgs({ options })
  if (values.reply === undefined || values.trace === undefined || values['public-key'] === undefined)
    throw new Unchecked('--reply, --trace and --public-key are needed')
  const keys = publicKeys(values['public-key'])
  const { slug, version, results } = parseReply(await readFile(values.reply, BYTES_MAX.reply))
  const read = traceReader(values.trace, slug)
  const chain = checkChain(await read('chain.jsonl', BYTES_MAX.chain), slug, keys)
  if (values.head !== undefined) checkHead(await readFile(values.head, BYTES_MAX.small), chain, keys)
  const entries = chain.map(({ entry }) => entry).filter(({ version_id: id }) => id === version)
  if (entries.length === 0) throw new Refuted('version', `${version} was never activated in ${slug}`)
  for (const entry of entries.slice(-ACTIVATIONS_MAX))
    checkRecord(await read(`activations/${entry.sequence}.json`, BYTES_MAX.small), entry)
  const manifest = await checkManifest(read, version, entries, keys)
  const leaves = []
  for (const [at, result] of results.entries()) leaves.push(await checkPassage(read, manifest, result, `results/${at}`))
  const { head, snapshot, day } = values
  const placed = snapshot === undefined ? '' : await checkSnapshot(snapshot, read, manifest, results, leaves)
  return `${leaves.length} passages of version ${version} of ${slug}, ${chain.length} entries of its history${head === undefined ? '' : ', the head seen earlier'}${placed}${checkDay(day ?? manifest.as_of, leaves)}`
}

function finish(code, message) {
  process.stdout.write(`${message}\n`, () => process.exit(code))
}

setTimeout(() => finish(1, `COULD NOT CHECK: ${TIMEOUT_MS / 1_000} s have passed`), TIMEOUT_MS)
try {
  finish(0, `PROVED: ${await main()}`)
} catch (error) {
  finish(...(error instanceof Refuted ? [2, `REFUTED: ${error.message}`] : [1, `COULD NOT CHECK: ${error.message}`]))
}
