/** A worker that does nothing, on the worker kit: what is measured is the service. */
import { start } from "../packages/worker/src/index.ts";

await start({
	handler: () => ({ ok: true }),
	concurrency: Number(process.env["NOOP_CONCURRENCY"] ?? "128"),
});
