/** Standard output of workers: its times, its jobs, and what is found in it (D36, D47). */
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { call, KEY } from "../support/service.ts";
import { sluice } from "./command.ts";
import { site } from "./site.ts";

const CHATTY = [process.execPath, fileURLToPath(new URL("workers/chatty.ts", import.meta.url))] as const;

interface Line {
	worker?: string;
	text: string;
	time: string;
	job?: string;
	position: number;
}

it("D47: lines have times and jobs, of running and ended workers, and are found in all of them", {
	timeout: 120_000,
}, async (test) => {
	const place = site(test);
	const endpoint = {
		launcher: { type: "process", command: CHATTY },
		workersMax: 1,
		idleTimeout: 60,
	};
	let service = await place.serve({ endpoints: { ours: endpoint } });
	const get = async (path: string): Promise<any> => {
		const answer = await fetch(`${service.url}/v1/endpoints/ours${path}`, {
			headers: { authorization: KEY },
		});
		const text = await answer.text();
		expect(answer.status, text).toBe(200);
		return path.includes("/workers/")
			? text
					.trim()
					.split("\n")
					.map((line) => JSON.parse(line) as Line)
			: JSON.parse(text);
	};
	const say = async (input: object): Promise<{ id: string; workerId: string }> => {
		const { json } = await call(service.url, "/v2/ours/runsync?wait=30000", { body: { input } });
		expect(json).toMatchObject({ status: "COMPLETED" });
		return json;
	};

	const began = Date.now();
	const first = await say({ say: "alpha" });
	const second = await say({ say: "beta" });
	const worker = first.workerId;
	expect(second.workerId).toBe(worker);
	for (const [{ id }, word, other] of [
		[first, "alpha", "beta"],
		[second, "beta", "alpha"],
	] as const) {
		const lines: Line[] = await get(`/workers/${worker}/logs?job=${id}`);
		const texts = lines.map(({ text }) => text);
		expect(texts).toContain(`\u001b[32m${word}\u001b[0m`);
		expect(texts).toContain(`${word} on stderr`);
		expect(texts).toContain("10%\r60%\r100%\u001b]0;title\u0007");
		expect(texts.join("\n")).not.toContain(other);
		for (const { time, job } of lines) {
			expect(job).toBe(id);
			expect(new Date(time).getTime()).toBeGreaterThanOrEqual(began);
			expect(new Date(time).getTime()).toBeLessThanOrEqual(Date.now());
		}
	}
	const [up]: Line[] = await get(`/workers/${worker}/logs?whole=true`);
	expect(up).toMatchObject({ text: `up as ${worker}`, time: expect.stringMatching(/Z$/) });
	expect(up).not.toHaveProperty("job");

	// Its worker ends; the job runs twice more, each time on another one.
	await call(service.url, "/v2/ours/run", { body: { input: { say: "gamma", exit: 3 } } });
	const log = async (): Promise<Line[]> => (await get("/logs?search=GAMMA%20ON&limit=10")).lines as Line[];
	await expect.poll(async () => (await log()).length, { timeout: 30_000 }).toBe(3);
	const hits = await log();
	expect(new Set(hits.map((each) => each.worker)).size).toBe(3);
	expect(hits.map((each) => each.time)).toEqual(
		hits
			.map((each) => each.time)
			.toSorted()
			.toReversed(),
	);
	expect(await get("/logs?search=on%20stderr&limit=2")).toMatchObject({
		lines: [{ text: "gamma on stderr" }, { text: "gamma on stderr" }],
		more: true,
	});
	expect((await get(`/logs?search=on&worker=${worker}&job=${first.id}`)).lines).toMatchObject([
		{ worker, text: "alpha on stderr", job: first.id },
	]);
	expect((await get("/logs?search=nowhere")).lines).toEqual([]);

	const around = {
		cwd: place.folder.path,
		env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY },
	};
	const printed = await sluice(test, ["workers", "logs", "ours", worker, "--whole", "-t"], around);
	expect(printed.stdout).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z up as ours-/);
	expect(printed.stdout).toMatch(/Z alpha\n\S+Z 100%\n\S+Z alpha on stderr\n/);
	// oxlint-disable-next-line no-control-regex
	expect(printed.stdout, "no escape sequences in a pipe").not.toMatch(/[\u001b\r\u0007]/);
	const found = await sluice(test, ["workers", "logs", "ours", "--search", "beta on"], around);
	expect(found.stdout).toBe(`${worker}  beta on stderr\n`);
	const raw = await sluice(
		test,
		["workers", "logs", "ours", worker, "--job", second.id, "--json", "--tail", "1"],
		around,
	);
	expect(JSON.parse(raw.stdout)).toMatchObject({ time: expect.any(String), job: second.id });

	await service.end();
	service = await place.serve({ endpoints: { ours: endpoint } });
	expect(
		(await log()).map(({ time }) => time),
		"after a restart",
	).toEqual(hits.map(({ time }) => time));
	await service.end();
});

it("D47: what Python prints is in the log at once", { timeout: 40_000 }, async (test) => {
	const place = site(test);
	const command = ["python3", "-c", "import time; print('printed'); time.sleep(600)"];
	const service = await place.serve({
		endpoints: { ours: { launcher: { type: "process", command }, workersMin: 1, stopGraceMs: 0 } },
	});
	const printed = async (): Promise<Line[]> =>
		(await call(service.url, "/v1/endpoints/ours/logs?search=printed")).json.lines;
	await expect.poll(printed, { timeout: 20_000 }).toHaveLength(1);
	await call(service.url, "/v1/endpoints/ours", { method: "DELETE" });
	await expect.poll(async () => (await call(service.url, "/v1/endpoints/ours")).status, { timeout: 10_000 }).toBe(404);
	await service.end();
});
