import { readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { z } from 'zod'
import { knownModel } from '#core/embedding/known-models.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { parsedJson } from '#core/platform/json.ts'
import { ENCODER_BOUNDS } from './bounds.ts'
import { CATALOGUE, FETCHED_FILE } from '#jobs/encoder/models/catalogue.ts'
import { createTokenize } from './tokenizer.ts'

/** How the vectors of a text's tokens become one. */
export type Pooling = 'mean' | 'first'

/** What this process takes from a model folder in the layout of sentence-transformers. */
export type ModelFolder = Awaited<ReturnType<typeof readModelFolder>>

const TOKENIZER = 'tokenizer.json'
const GRAPH = 'onnx/model.onnx'
/** Weights of a graph that are too many for one file. */
const GRAPH_WEIGHTS = ['onnx/model.onnx_data', 'onnx/Constant_7_attr__value'] as const

const modulesSchema = z.array(z.object({ type: z.string(), path: z.string().regex(/^[\w-]*$/) })).min(1)
const configSchema = z.object({
  hidden_size: z.int().min(INDEX_BOUNDS.embeddingDimensionsMin).max(INDEX_BOUNDS.embeddingDimensionsMax),
  max_position_embeddings: z.int().positive().optional(),
  pad_token_id: z.int().nonnegative().default(0),
})
const prompt = z.string().max(INDEX_BOUNDS.embeddingPrefixCharactersMax)
const promptsSchema = z.object({ prompts: z.record(z.string(), prompt).default({}) })
const sentenceSchema = z.object({
  max_seq_length: z.int().positive().nullable().default(null),
  do_lower_case: z.boolean().default(false),
})
const tokenizerConfigSchema = z.looseObject({ model_max_length: z.number().positive().optional() })
const tokenizerSchema = z.looseObject({ model: z.looseObject({ vocab: z.unknown() }) })
const poolingSchema = z.looseObject({
  word_embedding_dimension: z.int(),
  pooling_mode: z.string().optional(),
  include_prompt: z.boolean().default(true),
})

const fetchedSchema = z.object({ name: z.string(), revision: z.string() })

const MODULES = ['Transformer', 'Pooling', 'Normalize'] as const
const POOLINGS: Readonly<Record<string, Pooling>> = {
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_cls_token: 'first',
  mean: 'mean',
  cls: 'first',
}

/**
 * Reads a model folder, except for vocabulary and graph, which are only hashed.
 * @throws OperatorError for a folder that lacks a file, or asks for what this process cannot do, by its name.
 */
export async function readModelFolder(path: string) {
  const folder = resolve(path)
  const files = openFolder(folder)
  const modules = await files.json('modules.json', modulesSchema)
  const pooling = await poolingOf(files, modules)
  const config = await files.json('config.json', configSchema)
  if (pooling.dimensions !== config.hidden_size)
    throw files.refusal(`its pooling has ${pooling.dimensions} dimensions, and its transformer ${config.hidden_size}`)
  const { prompts } = await files.json('config_sentence_transformers.json', promptsSchema, { prompts: {} })
  const sentence = await files.json('sentence_bert_config.json', sentenceSchema, {})
  if (sentence.do_lower_case) throw files.refusal('do_lower_case of sentence_bert_config.json is not supported')
  const tokenizerConfig = await files.json('tokenizer_config.json', tokenizerConfigSchema, {})
  const limits = [sentence.max_seq_length ?? tokenizerConfig.model_max_length, config.max_position_embeddings]
  const tokensMax = Math.min(ENCODER_BOUNDS.modelTokensMax, ...limits.filter((limit) => limit !== undefined))
  const known = knownModel(basename(folder))
  const leads = {
    query: prompts['query'] ?? known?.query_prefix ?? '',
    passage: prompts['document'] ?? prompts['passage'] ?? known?.passage_prefix ?? '',
  }
  return {
    name: basename(folder),
    graphFile: join(folder, GRAPH),
    dimensions: config.hidden_size,
    /** Tokens of one run, with those that the model adds. */
    tokensMax,
    pooling: pooling.pooling,
    padToken: config.pad_token_id,
    prompts: leads,
    /** SHA-256 in hex over the name and SHA-256 of every file that the vectors depend on. */
    digest: await files.digestWith([TOKENIZER, GRAPH], GRAPH_WEIGHTS),
    /** Reads the vocabulary, once. @throws OperatorError */
    async openTokenizer() {
      const tokenizer = await files.json(TOKENIZER, tokenizerSchema)
      return createTokenize({ tokenizer, tokenizerConfig, tokensMax, prompts: leads })
    },
  }
}

function openFolder(folder: string) {
  const digests: string[] = []
  const refusal = (what: string): OperatorError =>
    new OperatorError(`The model folder ${folder} cannot be used: ${what}. See docs/deploy/models.md for its layout.`)
  return {
    refusal,
    /** @param absent what a missing file counts as; undefined: it is refused. */
    async json<T>(name: string, schema: z.ZodType<T>, absent?: T | object): Promise<T> {
      const bytesMax = name === TOKENIZER ? ENCODER_BOUNDS.tokenizerBytesMax : ENCODER_BOUNDS.modelConfigBytesMax
      const size = await sizeOf(join(folder, name))
      if (size === undefined && absent === undefined) throw refusal(`${name} is missing`)
      if (size === undefined) return schema.parse(absent)
      if (size > bytesMax) throw refusal(`${name} is larger than ${bytesMax} bytes`)
      const text = await readFile(join(folder, name), 'utf8')
      digests.push(`${name} ${sha256(text).toString('hex')}`)
      const parsed = schema.safeParse(parsedJson(text))
      if (parsed.success) return parsed.data
      const at = parsed.error.issues[0]?.path.join('.') ?? ''
      throw refusal(`${name} is not valid${at === '' ? '' : ` at ${at}`}`)
    },
    /** The digest of the files that were read and of these. */
    async digestWith(required: readonly string[], optional: readonly string[]) {
      const pinned = await pinnedIn(folder, refusal)
      for (const name of [...required, ...optional]) {
        const isThere = (await sizeOf(join(folder, name))) !== undefined
        if (!isThere && required.includes(name)) throw refusal(`${name} is missing`)
        if (!isThere) continue
        const { sha256: digest } = await digestFile(join(folder, name))
        if ((pinned.get(name) ?? digest) !== digest)
          throw refusal(`${name} is not the file of ${FETCHED_FILE}; remove the folder and fetch it again`)
        digests.push(`${name} ${digest}`)
      }
      return sha256(digests.toSorted().join('\n')).toString('hex')
    },
  }
}

/** Digests by path of a folder that `operator models fetch` wrote; none for any other folder. */
async function pinnedIn(folder: string, refusal: (what: string) => OperatorError) {
  const path = join(folder, FETCHED_FILE)
  if ((await sizeOf(path)) === undefined) return new Map()
  const fetched = fetchedSchema.safeParse(parsedJson(await readFile(path, 'utf8'))).data
  // What the list says counts, not the file beside the weights.
  const release = fetched && CATALOGUE[fetched.name]
  if (release === undefined || release.revision !== fetched?.revision)
    throw refusal(`${FETCHED_FILE} names no model of this release; remove the folder and fetch it again`)
  return new Map(release.files.map((file) => [file.path, file.sha256]))
}

/** Only the modules that change no vector otherwise than this process does are taken. */
async function poolingOf(files: ReturnType<typeof openFolder>, modules: z.infer<typeof modulesSchema>) {
  const names = modules.map(({ type }) => type.slice(type.lastIndexOf('.') + 1))
  for (const [at, name] of names.entries())
    if (name !== MODULES[at]) throw files.refusal(`modules.json asks for the module ${name} at place ${at}`)
  const path = modules[1]?.path
  if (path === undefined) throw files.refusal('modules.json names no pooling')
  const config = await files.json(`${path}/config.json`, poolingSchema)
  if (!config.include_prompt) throw files.refusal('include_prompt false of its pooling is not supported')
  const modes = Object.entries(config).filter(([name, value]) => name.startsWith('pooling_mode_') && value === true)
  const asked = config.pooling_mode === undefined ? modes.map(([name]) => name) : [config.pooling_mode]
  const [mode = 'none'] = asked
  const pooling = POOLINGS[mode]
  if (asked.length !== 1 || pooling === undefined)
    throw files.refusal(`its pooling ${asked.join(' with ') || 'none'} is not supported`)
  return { pooling, dimensions: config.word_embedding_dimension }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return await stat(path).then(
    (found) => (found.isFile() ? found.size : undefined),
    () => undefined,
  )
}
