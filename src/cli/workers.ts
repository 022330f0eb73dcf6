/** `sluice workers`: who works for which endpoint (D36). */
import { JSON_FLAG, printed } from "./ask.ts";
import { noun } from "./command.ts";
import type { Action } from "./command.ts";
import { callService, path } from "./service-client.ts";
import type { Told } from "./service-client.ts";
import { short, table } from "./table.ts";

interface Worker {
  id: string;
  state: string;
  launcher: string;
  seenAt: string;
  jobs: string[];
}

const list: Action = {
  name: "list",
  args: ["[ENDPOINT]"],
  summary: "workers of an endpoint, or of all",
  flags: JSON_FLAG,
  async run(given) {
    const [endpoint] = given.args;
    const { ask } = callService(process.env);
    const ids = endpoint === undefined ? ((await ask("GET", "/v1/endpoints")).json as { endpoints: { id: string }[] }).endpoints.map(({ id }) => id) : [endpoint];
    const found: [string, Worker[]][] = [];
    for (const id of ids) found.push([id, ((await ask("GET", path`/v1/endpoints/${id}/workers`)).json as { workers: Worker[] }).workers]);
    const rows = found.flatMap(([id, workers]) => workers.map((worker) => row(id, worker)));
    return printed(asJson(found), given, () => (rows.length === 0 ? none(endpoint) : table(["ENDPOINT", "WORKER", "STATE", "LAUNCHER", "LAST CALL", "JOBS"], rows)));
  },
};

/** One list over all endpoints, each worker with its endpoint. */
function asJson(found: readonly [string, Worker[]][]): Told {
  const json = { workers: found.flatMap(([endpoint, workers]) => workers.map((worker) => ({ endpoint, ...worker }))) };
  return { json, text: JSON.stringify(json) };
}

function row(endpoint: string, { id, state, launcher, seenAt, jobs }: Worker): (string | undefined)[] {
  return [endpoint, id, state, launcher, short(seenAt), jobs.join(",")];
}

function none(endpoint: string | undefined): string {
  const id = endpoint ?? "ENDPOINT";
  return `No worker is there. Launched ones start when jobs wait; others attach with the variables of: sluice worker-env ${id}\n`;
}

export const workers = noun({ name: "workers", summary: "list workers and what they do", actions: [list] });
