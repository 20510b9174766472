import { z } from 'zod'
import { parsedJson } from './json.ts'
import type { ChatRequest } from './json-endpoint.ts'

/** The JSON object that a chat model is asked for: its fields, and no others. */
export interface AskedObject {
  readonly name: string
  readonly properties: Readonly<Record<string, object>>
  readonly tokensMax: number
}

/**
 * Asks a chat model for one JSON object.
 * @param data what somebody else wrote, encoded so that no part of it can end its string. Chat templates mark roles with
 * tags like `<|im_end|>`, which some servers also read in contents, so no `<` is sent as itself.
 */
export function chatRequest(
  model: string,
  instructions: string,
  data: object,
  { name, properties, tokensMax }: AskedObject,
): ChatRequest {
  const schema = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
  return {
    model,
    temperature: 0,
    max_tokens: tokensMax,
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: JSON.stringify(data).replaceAll('<', '\\u003c') },
    ],
    response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } },
  }
}

const completionSchema = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1) })

/** Returns the JSON that a chat model wrote; undefined where its reply has none. */
export function writtenIn(reply: unknown): unknown {
  return parsedJson(completionSchema.safeParse(reply).data?.choices[0]?.message.content ?? '')
}
