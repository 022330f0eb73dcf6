/**
 * Payload files that are deleted below a running service: what reads of the job and `/readyz` answer,
 * and after how long the service is not ready. Prints JSON. `node bench/attacks/lost-files.ts`.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { attacked, print, sleep } from "./parts/attacked.ts";

const [BYTES, WATCHED_MS] = [4_000_000, 5000];

const figures = await attacked({}, async ({ call, folder }) => {
	const body = `{"input":{"x":"${"x".repeat(BYTES)}"}}`;
	const { json } = await call("/v2/noop/run", { body });
	const files = readdirSync(folder).filter((name) => name.endsWith(".payloads"));
	for (const name of files) rmSync(join(folder, name), { recursive: true });
	const began = performance.now();
	let notReadyAfterMs: number | null = null;
	while (notReadyAfterMs === null && performance.now() - began < WATCHED_MS) {
		if ((await call("/readyz")).status !== 200) notReadyAfterMs = Math.round(performance.now() - began);
		else await sleep(50);
	}
	const reads = { details: (await call(`/v1/endpoints/noop/jobs/${json.id}`)).status };
	const submissions = (await call("/v2/noop/run", { body })).status;
	return { folders: files.length, watchedMs: WATCHED_MS, notReadyAfterMs, reads, submissions };
});
print("lost-files", figures);
