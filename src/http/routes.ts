/** THE table: method, path, who may call, largest body, handler. Everything served is a row here. */
import { RESULT_LIMIT } from "../core/report.ts";
import type { Call } from "./call.ts";
import * as client from "./client-api.ts";
import * as operator from "./operator-api.ts";
import { stream } from "./stream-api.ts";
import * as worker from "./worker-api.ts";

const KB = 1024;
const MB = 1024 * KB;

/** Who may call: a key with this scope, a worker with its token, or anybody. */
export type Who = "read" | "write" | "admin" | "worker" | "anybody";

export interface Route {
  methods: readonly ("GET" | "POST")[];
  /** Segments; `:endpoint`, `:job` and `:worker` are parameters. */
  path: string;
  who: Who;
  /** Largest body, bytes (spec 8, D3). */
  maxBody: number;
  /** A poll of a worker: refusals are paced (D26). */
  poll?: true;
  handle: (call: Call) => Promise<void> | void;
}

const CLIENT: readonly (Omit<Route, "path"> & { operation: string })[] = [
  { operation: "run", methods: ["POST"], who: "write", maxBody: 10 * MB, handle: client.run },
  { operation: "runsync", methods: ["POST"], who: "write", maxBody: 20 * MB, handle: client.runsync },
  { operation: "status/:job", methods: ["GET", "POST"], who: "read", maxBody: 64 * KB, handle: client.status },
  { operation: "status-sync/:job", methods: ["GET", "POST"], who: "read", maxBody: 64 * KB, handle: client.statusSync },
  { operation: "stream/:job", methods: ["GET", "POST"], who: "read", maxBody: 64 * KB, handle: stream },
  { operation: "cancel/:job", methods: ["POST"], who: "write", maxBody: 64 * KB, handle: client.cancel },
  { operation: "health", methods: ["GET"], who: "read", maxBody: 64 * KB, handle: client.health },
];

/** The same operations under both prefixes; only `/stream` answers differently (D7). */
function clientRoutes(prefix: string): Route[] {
  return CLIENT.map(({ operation, ...route }) => ({ ...route, path: `${prefix}/:endpoint/${operation}` }));
}

export const ROUTES: readonly Route[] = [
  ...clientRoutes("/v2"),
  ...clientRoutes("/sdk/v2"),
  { methods: ["GET"], path: "/worker/:endpoint/job-take/:worker", who: "worker", maxBody: 64 * KB, poll: true, handle: worker.take },
  { methods: ["GET"], path: "/worker/:endpoint/job-take-batch/:worker", who: "worker", maxBody: 64 * KB, poll: true, handle: worker.takeBatch },
  { methods: ["GET"], path: "/worker/:endpoint/job-stop/:worker", who: "worker", maxBody: 64 * KB, poll: true, handle: worker.stop },
  { methods: ["POST"], path: "/worker/:endpoint/job-done/:worker/:job", who: "worker", maxBody: RESULT_LIMIT, handle: worker.done },
  { methods: ["POST"], path: "/worker/:endpoint/job-stream/:worker/:job", who: "worker", maxBody: RESULT_LIMIT, handle: worker.chunk },
  { methods: ["GET"], path: "/worker/:endpoint/ping/:worker", who: "worker", maxBody: 64 * KB, handle: worker.ping },
  { methods: ["GET"], path: "/v1/endpoints", who: "read", maxBody: 64 * KB, handle: operator.endpoints },
  { methods: ["POST"], path: "/v1/endpoints/:endpoint/worker-env", who: "admin", maxBody: 64 * KB, handle: operator.workerEnv },
  { methods: ["GET"], path: "/healthz", who: "anybody", maxBody: 64 * KB, handle: operator.alive },
  { methods: ["GET"], path: "/readyz", who: "anybody", maxBody: 64 * KB, handle: operator.ready },
];
