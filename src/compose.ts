/** The composition root: a configuration becomes a running service. The only file that knows all layers; no logic of its own. */
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { createEngine } from "./engine/engine.ts";
import type { Engine } from "./engine/api.ts";
import { hex, pooled } from "./engine/ids.ts";
import type { Random } from "./engine/ids.ts";
import type { EventBus } from "./events.ts";
import { listen } from "./http/server.ts";
import type { HttpServer } from "./http/server.ts";
import { launchers } from "./launchers/index.ts";
import { sweepStrays } from "./launchers/process-strays.ts";
import { workerLogs } from "./launchers/worker-logs.ts";
import { openSqlite } from "./store/sqlite/open.ts";
import { version } from "./version.ts";
import { webhookSender } from "./webhooks/post.ts";
import { systemResolve } from "./webhooks/target.ts";

/** A service that runs. */
export interface App {
  /** Address it listens on, without a slash at the end. */
  url: string;
  /** The key made at the first start, to be shown once (D30). */
  firstKey: string | undefined;
  engine: Engine;
  events: EventBus;
  /** Stops gracefully (D34); may be called once. */
  stop(): Promise<void>;
}

/** How long connections get to end after the drain, ms. */
const CLOSE_MS = 2000;

/** Variables of the service that no worker may see. */
const OWN_SECRETS = ["SLUICE_API_KEY", "SLUICE_SECRET"];

/** Starts everything in order; stops what was started when a step fails. */
export async function startApp(config: Config, o: { clock: Clock; events: EventBus; random?: Random; env: Readonly<Record<string, string | undefined>> }): Promise<App> {
  const { clock, events, random = pooled(randomBytes) } = o;
  const directory = dirname(config.storePath);
  mkdirSync(directory, { recursive: true });
  const store = await openSqlite({ path: config.storePath });
  const logs = join(directory, "logs");
  const table = new Map(Object.entries(launchers).map(([name, make]) => [name, make({ clock, logDir: join(logs, name), log: (message) => events.emit("fault", { where: `the ${name} launcher`, error: message }) })]));
  const engine = createEngine({
    store, clock, random, events, apiKey: config.apiKey,
    launchers: table,
    workerLogs: workerLogs([...table.keys()].map((name) => join(logs, name))),
    endStrays: async ({ serviceId, known }) => (await sweepStrays({ clock, serviceId, known: known.map((handle) => Number(handle["pid"])) })).length,
    sealKey: sealKey(config, random),
    sendWebhook: webhookSender({ clock, allowPrivateNetworks: config.webhooksAllowPrivateNetworks, userAgent: `Sluice/${version}`, resolve: systemResolve }),
    gpus: config.gpus,
    workerBaseEnv: workerBaseEnv(o.env, config.gpus),
  });
  let server: HttpServer | undefined;
  try {
    await engine.prepare(config.endpoints);
    const firstKey = await engine.keys.makeFirst();
    server = await listen({ engine, clock, events, host: config.host, port: config.port, corsOrigins: config.corsOrigins, reference: () => hex(random(4)) });
    const url = `http://${reachable(server.host)}:${server.port}`;
    await engine.start({ url: config.publicUrl ?? url });
    events.emit("service.listening", { url });
    const { close } = server;
    return {
      url, firstKey, engine, events,
      async stop() {
        await engine.stop({ drainMs: config.drainMs });
        await close(CLOSE_MS);
        await store.close();
      },
    };
  } catch (error) {
    await server?.close(0);
    await store.close();
    throw error;
  }
}

/** The address by which this machine reaches a listener: a wildcard is not one. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

/** The key for secrets at rest: from `SLUICE_SECRET`, or a file beside the database that only its owner may read (D22). */
function sealKey({ secret, storePath }: Config, random: Random): Uint8Array {
  if (secret !== undefined) return createHash("sha256").update(secret).digest();
  const path = `${storePath}.secret`;
  try {
    writeFileSync(path, hex(random(32)), { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return Buffer.from(readFileSync(path, "utf8").trim(), "hex");
}

function workerBaseEnv(env: Readonly<Record<string, string | undefined>>, gpus: number): Record<string, string> {
  const base: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined && !OWN_SECRETS.includes(name)) base[name] = value;
  // Where GPUs are shared out, a worker that was given none must see none.
  return gpus > 0 ? { ...base, CUDA_VISIBLE_DEVICES: "" } : base;
}
