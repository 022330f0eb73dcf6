/** Health of the service, and the few `/v1` operations that the command line needs so far (D36, D40). */
import { ApiError, badQuery } from "../core/errors.ts";
import { query } from "./call.ts";
import type { Call } from "./call.ts";
import { json } from "./reply.ts";

/** GET /healthz: the process is alive. */
export function alive(call: Call): void {
  json(call.res, '{"ok":true}');
}

/** GET /readyz: requests can be taken: 503 while draining or while the store is away (D40). */
export async function ready(call: Call): Promise<void> {
  if (call.engine.draining) throw new ApiError("not_ready");
  await call.engine.ready();
  json(call.res, '{"ready":true}');
}

/** GET /v1/endpoints: the endpoints and their settings (D39). Values of `env` are left out: they may be secret. */
export function endpoints(call: Call): void {
  const list = [...call.engine.registry.all()].map(({ env, ...settings }) => ({ ...settings, env: Object.keys(env), paused: call.engine.registry.paused(settings.id) }));
  json(call.res, JSON.stringify({ endpoints: list }));
}

/** POST /v1/endpoints/{endpoint}/worker-env: variables for a worker that somebody else starts, with a new token (D36). */
export async function workerEnv(call: Call): Promise<void> {
  const q = query(call);
  const url = q.get("url") ?? "";
  if (!/^https?:\/\/[^\s?#]+$/.test(url)) throw badQuery("url", url, "the http or https address under which workers reach this service");
  const env = await call.engine.workerEnv({ endpoint: call.params.endpoint, url: url.replace(/\/+$/, ""), replicas: q.get("replicas") === "true" });
  json(call.res, JSON.stringify({ env }));
}
