/** The warm-up of workers on the worker kit that a service launches, and that is killed meanwhile (D28, D34). */
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { type Act, ended, isAlive, jobAt, type Note, run, site, type Site } from "./site.ts";

/** Serves an endpoint whose workers warm up with this; a job waits for it. Resolves when the warm-up runs. */
async function warming(place: Site, input: Act, settings: object = {}) {
	const service = await place.serve({
		endpoints: { ours: place.launched({ workersMax: 1, idleTimeout: 3600, warmup: { input }, ...settings }) },
	});
	const id = await run(service, "ours", { n: 1 });
	const [first] = await until("the warm-up", () => warmups(place).length > 0 && warmups(place));
	return { service, id, first: first! };
}

const warmups = (place: Site): Note[] =>
	place.notes().filter(({ what, id, worker }) => what === "run" && id === `warmup-${worker}`);

const workersOf = async ({ url }: { url: string }): Promise<any> =>
	(await call(url, "/v1/endpoints/ours/workers?ended=true")).json;

describe("a launched worker that warms up", () => {
	it.concurrent.for([1, 4])(
		"D28: takes its first job afterwards, with concurrency %i",
		{ timeout: 40_000 },
		async (concurrency, test) => {
			const place = site(test);
			const env = { DIARY: `${place.folder.path}/diary`, CONCURRENCY: String(concurrency) };
			const { service, id, first } = await warming(place, { until: "warm" }, { env });
			expect((await workersOf(service)).workers).toMatchObject([{ state: "initializing", jobs: [] }]);
			const others = [await run(service, "ours", { n: 2 }), await run(service, "ours", { n: 3 })];
			expect(await jobAt(service, "ours", id)).toMatchObject({ status: "IN_QUEUE" });
			place.allow("warm");
			for (const each of [id, ...others])
				expect(await ended(service, "ours", each)).toMatchObject({ status: "COMPLETED", workerId: first.worker });
			expect(place.notes().filter(({ what }) => what === "run")).toHaveLength(4);
			expect(warmups(place)).toHaveLength(1);
		},
	);

	it.concurrent("D28, D47: that is killed then has crashed during its warm-up", { timeout: 40_000 }, async (test) => {
		const place = site(test);
		const { service, id, first } = await warming(place, { until: "warm" });
		process.kill(first.pid, "SIGKILL");
		const end = await until("its end", async () => (await workersOf(service)).ended[0]);
		expect(end).toMatchObject({ code: "crashed", message: "It was killed by signal 9, SIGKILL during its warm-up." });
		await until("the next warm-up", () => warmups(place)[1]);
		place.allow("warm");
		expect(await ended(service, "ours", id)).toMatchObject({ status: "COMPLETED" });
	});
});

describe("a service that is killed while a worker warms up", () => {
	it.concurrent("D34: takes the worker as ready at its next start: it is not warmed up again", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const { service, id, first } = await warming(place, { until: "warm" });
		await service.end("SIGKILL");
		const next = await place.serve();
		await until("it is taken over", () => next.stderr().includes(`${first.worker} taken over`));
		place.allow("warm");
		expect(await ended(next, "ours", id)).toMatchObject({ status: "COMPLETED", workerId: first.worker });
		expect(warmups(place)).toHaveLength(1);
	});

	it.concurrent("D28, D34: ends the worker if the warm-up then fails, and the job waits for another", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const { service, id, first } = await warming(place, { until: "warm", fail: "no CUDA device" });
		await service.end("SIGKILL");
		const next = await place.serve();
		await until("it is taken over", () => next.stderr().includes(`${first.worker} taken over`));
		place.allow("warm");
		await until("its end", () => !isAlive(first.pid));
		expect(next.stderr()).toContain("no worker could be started: its warm-up failed: Error: no CUDA device");
		expect(await jobAt(next, "ours", id)).toMatchObject({ status: "IN_QUEUE" });
		expect(place.runs(id)).toEqual([]);
	});
});
