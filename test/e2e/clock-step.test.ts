/** The time of day of a running service is set, as by NTP or by hand (D16). */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { ended, run, site, started } from "./site.ts";

const HOUR = 3_600_000;
const PRELOAD = fileURLToPath(new URL("../support/step-clock.mjs", import.meta.url));

describe("D16: the time of day of a service is set", () => {
	it.concurrent.for([
		{ what: "forward by an hour", ms: HOUR },
		{ what: "back by an hour", ms: -HOUR },
		{ what: "forward by a day", ms: 24 * HOUR },
		{ what: "back by a day", ms: -24 * HOUR },
	])(
		"$what: results, waiting and running jobs stay, also after a restart; dead workers are noticed",
		{ timeout: 60_000 },
		async ({ ms }, test) => {
			const place = site(test);
			const step = join(place.folder.path, "step");
			writeFileSync(step, "0");
			const env = { NODE_OPTIONS: `--import ${PRELOAD}`, STEP_CLOCK: step };
			const endpoints = {
				e: { launcher: { type: "external" }, leaseMs: 2000 },
				dead: { launcher: { type: "external" }, leaseMs: 2000 },
				waiting: { launcher: { type: "external" } },
			};
			let service = await place.serve({ endpoints, env });
			await place.attach(service, "e");
			const dying = await place.attach(service, "dead");
			const done = await run(service, "e", { n: 1 });
			await ended(service, "e", done);
			const running = await run(service, "e", { until: "end" });
			await started(place, running);
			const left = await run(service, "dead", { until: "never" });
			await started(place, left);
			const queued = await run(service, "waiting", {});
			const status = async (endpoint: string, id: string) =>
				(await call(service.url, `/v2/${endpoint}/status/${id}`)).json;
			async function unharmed(): Promise<void> {
				expect(await status("e", done)).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
				const now = await status("e", running);
				expect(now).toMatchObject({ status: "IN_PROGRESS" });
				expect(now).not.toHaveProperty("retries");
				expect(now.executionTime).toBeLessThan(60_000);
				expect(await status("waiting", queued)).toMatchObject({ status: "IN_QUEUE" });
			}
			// Before its next ping, which would renew the lease by the new time.
			dying.kill("SIGKILL");
			writeFileSync(step, String(ms));
			await until("the service to notice", () => /time of day was set/.test(service.stderr()));
			await unharmed();
			const { json } = await call(service.url, `/v1/endpoints/e/jobs/${running}`);
			expect(Math.abs(Date.parse(json.submittedAt) - Date.now())).toBeLessThan(60_000);
			await until("the loss", async () => (await status("dead", left)).status === "IN_QUEUE");
			await service.end("SIGKILL");
			service = await place.serve({ env });
			await unharmed();
			expect(service.stderr()).not.toMatch(/time of day was set/);
			place.allow("end");
			const job = await ended(service, "e", running);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
		},
	);
});
