/** The time of day of a running service, or of its database, is set, as by NTP or by hand (D16). */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { startPostgres } from "../support/postgres-server.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { hasFaketime, settableClock } from "../torture/faults/clocks.ts";
import { ended, run, site, type Site, started } from "./site.ts";

const HOUR = 3_600_000;
const PRELOAD = fileURLToPath(new URL("../support/step-clock.mjs", import.meta.url));

/** How a service is started, and how its time of day is set. */
interface Stepped {
	env: Record<string, string>;
	args?: readonly string[];
	set(ms: number): void;
}

/** The service's machine. */
function machineClock(place: Site): Stepped {
	const file = join(place.folder.path, "step");
	const set = (ms: number): void => writeFileSync(file, String(ms));
	set(0);
	return { set, env: { NODE_OPTIONS: `--import ${PRELOAD}`, STEP_CLOCK: file } };
}

/** The machine of its PostgreSQL. */
async function databaseClock({ onTestFinished }: TestContext): Promise<Stepped> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-clock-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	// PostgreSQL runs as another user.
	chmodSync(folder, 0o755);
	const clock = settableClock(join(folder, "time"), 0);
	const server = await startPostgres({ env: clock.env });
	onTestFinished(() => server.remove());
	const { url } = await server.createDatabase();
	return {
		env: { SLUICE_SECRET: "the secret of all servers" },
		args: ["--drain-timeout", "0", "--store", url],
		set: (ms) => clock.set(ms / 1000),
	};
}

const STEPS = [
	{ what: "forward by an hour", ms: HOUR },
	{ what: "back by an hour", ms: -HOUR },
	{ what: "forward by a day", ms: 24 * HOUR },
	{ what: "back by a day", ms: -24 * HOUR },
];
const CASES = [
	...STEPS.map((step) => ({ ...step, of: "a service" })),
	...(hasFaketime() ? STEPS.slice(2).map((step) => ({ ...step, of: "its PostgreSQL" })) : []),
];

describe("D16: the time of day is set", () => {
	it.concurrent.for(CASES)(
		"$what, of $of: results, waiting and running jobs stay, also after a restart; dead workers are noticed",
		{ timeout: 60_000 },
		async ({ ms, of }, test) => {
			const place = site(test);
			const { set, ...how } = of === "a service" ? machineClock(place) : await databaseClock(test);
			const endpoints = {
				e: { launcher: { type: "external" }, leaseMs: 2000 },
				dead: { launcher: { type: "external" }, leaseMs: 2000 },
				waiting: { launcher: { type: "external" } },
			};
			let service = await place.serve({ endpoints, ...how });
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
			set(ms);
			await until("the service to notice", () => /time of day was set/.test(service.stderr()));
			await unharmed();
			const { json } = await call(service.url, `/v1/endpoints/e/jobs/${running}`);
			// Times shown move with the time of day.
			expect(Math.abs(Date.parse(json.submittedAt) - ms - Date.now())).toBeLessThan(60_000);
			await until("the loss", async () => (await status("dead", left)).status === "IN_QUEUE");
			await service.end("SIGKILL");
			service = await place.serve(how);
			await unharmed();
			expect(service.stderr()).not.toMatch(/time of day was set/);
			place.allow("end");
			const job = await ended(service, "e", running);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
		},
	);
});
