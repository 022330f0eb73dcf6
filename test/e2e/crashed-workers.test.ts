/** What is known of workers that have crashed, and what an operator can do (D16, D28, D29, D47). */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { call, KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sluice } from "./command.ts";
import { isAlive, jobAt, run, site } from "./site.ts";

const SECRET = "a very secret value";

const node = (code: string): string[] => [process.execPath, "-e", code];

/** Of version 1: a folder is enough to make a group with a limit. */
const CGROUPS = "/sys/fs/cgroup/memory";
const noGroup = existsSync(join(CGROUPS, "memory.limit_in_bytes"))
	? undefined
	: `there is no cgroup of version 1 at ${CGROUPS}`;

/** Runs the program in a group that may use 64 MiB. */
function limited(code: string, { onTestFinished }: Pick<TestContext, "onTestFinished">): string[] {
	const group = join(CGROUPS, `sluice-test-${process.pid}`);
	mkdirSync(group);
	onTestFinished(() => rmdirSync(group));
	writeFileSync(join(group, "memory.limit_in_bytes"), String(64 * 2 ** 20));
	return ["sh", "-c", `echo $$ > ${group}/cgroup.procs && exec "$0" "$@"`, ...node(code)];
}

async function seen(url: string, path: string, key = KEY): Promise<any> {
	const { json, status, text } = await call(url, path, { key });
	expect(status, text).toBe(200);
	return json;
}

interface Of {
	endpoint?: string;
	key?: string;
}

const endedOf = async (url: string, { endpoint = "ours", key }: Of = {}): Promise<any[]> =>
	(await seen(url, `/v1/endpoints/${endpoint}/workers?ended=true`, key)).ended;

/** The first event of the live feed. */
async function fed(url: string, key: string): Promise<string> {
	const left = new AbortController();
	const { body } = await fetch(`${url}/v1/feed`, {
		headers: { authorization: `Bearer ${key}` },
		signal: left.signal,
	});
	let text = "";
	try {
		for await (const piece of body!.pipeThrough(new TextDecoderStream()))
			if (/^data: .*\n\n/m.test((text += piece))) break;
		return text;
	} finally {
		left.abort();
	}
}

/** Why the job waits, once workers crash. */
const crashing = (url: string, id: string, { endpoint = "ours", key }: Of = {}): Promise<any> =>
	until("the reason", async () => {
		const { reason } = await seen(url, `/v1/endpoints/${endpoint}/jobs/${id}`, key);
		return reason?.code === "workers_crashing" && reason.worker && reason;
	});

const launched = (command: readonly string[]): object => ({
	launcher: { type: "process", command },
	env: { MODEL: SECRET, NODE_OPTIONS: "--max-old-space-size=16" },
	workersMax: 1,
});

/** By endpoint. */
const CRASHES = [
	{
		how: "throws",
		code: "throw new Error('no model at ' + process.env.MODEL)",
		message: "It ended with exit code 1 before it asked for a job.",
		facts: { exitCode: 1, code: "crashed" },
		says: /Error: no model at \[MODEL\]/,
	},
	{
		how: "exits with 7",
		code: "console.log('one\\x1b[31m\\n10%\\r99%\\x1b[2J'); process.exit(7)",
		message: "It ended with exit code 7 before it asked for a job.",
		facts: { exitCode: 7, code: "crashed" },
		says: /^one\n99%$/,
	},
	{
		how: "is killed",
		code: "console.log(process.env.RUNPOD_AI_API_KEY); process.kill(process.pid, 'SIGKILL')",
		message: "It was killed by signal 9, SIGKILL before it asked for a job.",
		facts: { signal: "SIGKILL", code: "crashed" },
		says: /^\[token\]$/,
	},
	{
		how: "violates its memory",
		code: "console.log('native'); process.kill(process.pid, 'SIGSEGV')",
		message: "It was killed by signal 11, SIGSEGV before it asked for a job.",
		facts: { signal: "SIGSEGV", code: "crashed" },
		says: /^native$/,
	},
	{
		how: "fills its JavaScript heap",
		code: "const a = []; for (;;) a.push({ a: [a.length] })",
		message: expect.stringMatching(/^Its JavaScript heap was full: /),
		facts: { code: "out_of_memory" },
		says: /heap out of memory/,
	},
] as const;

describe("a worker that crashes at its start", { timeout: 120_000 }, () => {
	it("D29, D47: each is explained where its job waits, with its last lines", async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: Object.fromEntries(CRASHES.map(({ how, code }) => [how.replaceAll(" ", "-"), launched(node(code))])),
		});
		for (const { how, message: text, facts, says } of CRASHES) {
			const endpoint = how.replaceAll(" ", "-");
			const id = await run(service, endpoint, {});
			const { worker, message, retryAt } = await crashing(service.url, id, { endpoint });
			expect(worker, how).toMatchObject({ message: text, ...facts });
			expect(worker.lastOutput, how).toMatch(says);
			expect(worker).not.toHaveProperty("readyAt");
			expect(message).toMatch(/^Workers exit before taking a job: it/);
			expect(retryAt === undefined || new Date(retryAt).getTime() > 0).toBe(true);
			expect(await endedOf(service.url, { endpoint })).toContainEqual(worker);
		}
		const { id } = (await seen(service.url, "/v1/endpoints/throws/jobs")).jobs[0];
		const said = await sluice(test, ["jobs", "get", "throws", id], {
			cwd: place.folder.path,
			env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY },
		});
		expect(said.stdout).toContain("The whole log: sluice workers logs throws throws-");
		expect(said.stdout).toContain("Start one now: sluice workers start throws\n");
		// Between two starts no worker is there, and `get` of a job is not the first thing a user calls.
		const surroundings = { cwd: place.folder.path, env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY } };
		const endpoints = await sluice(test, ["endpoints", "list"], surroundings);
		const workers = await sluice(test, ["workers", "list"], surroundings);
		for (const { stdout } of [endpoints, workers]) {
			const why = (endpoint: string): string => stdout.split("\n").findLast((line) => line.startsWith(endpoint)) ?? "";
			expect(why("throws")).toMatch(
				/It ended with exit code 1 before it .*\.( Next start in \d+ s\.)? It printed: Error: no model at \[MODEL\]$/,
			);
			expect(why("exits-with-7")).toMatch(/It printed: 99%$/);
			expect(why("is-killed")).toMatch(/It was killed by signal 9, SIGKILL .*It printed: \[token\]$/);
			expect(why("fills-its")).toMatch(/Its JavaScript heap was full: /);
		}
		expect(endpoints.stdout + workers.stdout).toMatch(/Next start in \d+ s\./);
		await service.end();
		expect(service.stderr()).not.toContain(SECRET);
		expect(service.stderr()).not.toMatch(/sluice_worker_[0-9a-f]{8}/);
	});

	it.skipIf(noGroup)(
		`D47: that needs more memory than its cgroup has${noGroup === undefined ? "" : ` (skipped: ${noGroup})`}`,
		async (test) => {
			const place = site(test);
			const command = limited("const a = []; for (;;) a.push(Buffer.alloc(2 ** 20, 1))", test);
			const service = await place.serve({ endpoints: { ours: launched(command) } });
			const { worker } = await crashing(service.url, await run(service, "ours", {}));
			expect(worker).toMatchObject({
				code: "out_of_memory",
				signal: "SIGKILL",
				message: expect.stringContaining("killed by the kernel, which had run out of memory"),
			});
			await service.end();
		},
	);

	it("D47: ended workers stay listed after a restart; output only for admin keys", async (test) => {
		const place = site(test);
		const endpoints = { ours: launched(node("console.log('one line'); process.exit(3)")) };
		let service = await place.serve({ endpoints });
		const id = await run(service, "ours", {});
		await crashing(service.url, id);
		const { json } = await call(service.url, "/v1/keys", {
			body: { name: "reader", scopes: ["read"] },
		});
		const { worker } = await crashing(service.url, id, { key: json.key });
		expect(worker).toMatchObject({ exitCode: 3 });
		const reasons = [KEY, json.key].map(async (key) => (await seen(service.url, "/v1/endpoints/ours", key)).reason);
		const [forAdmin, forReader] = await Promise.all(reasons);
		expect(forAdmin).toMatchObject({ code: "crashed", lastLine: "one line" });
		for (const each of [forReader, worker, ...(await endedOf(service.url, { key: json.key }))])
			for (const name of ["lastLine", "lastOutput"]) expect(each).not.toHaveProperty(name);
		expect(await fed(service.url, KEY)).toContain('"lastLine":"one line"');
		expect(await fed(service.url, json.key)).toMatch(/"code":"crashed"(?!.*one line)/);
		await service.end();
		service = await place.serve({ endpoints });
		const [oldest, ...later] = (await endedOf(service.url)).toReversed();
		expect(oldest).toMatchObject({ exitCode: 3, lastOutput: "one line" });
		expect([oldest, ...later].map((each) => each.id)).toContain(worker.id);
		const listed = await sluice(test, ["workers", "list", "ours", "--all"], {
			cwd: place.folder.path,
			env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY },
		});
		expect(listed.stdout).toMatch(
			new RegExp(`${worker.id} +ended .*It ended with exit code 3 before it asked for a job\\. It printed: one line`),
		);
		await service.end();
	});

	it("D28: is started again at once by an operator, who has repaired it", async (test) => {
		const place = site(test);
		const program = join(place.folder.path, "worker.mjs");
		writeFileSync(program, "process.exit(7)");
		const service = await place.serve({
			endpoints: { ours: place.launched({ ...launched([process.execPath, program]), env: {} }) },
		});
		const id = await run(service, "ours", {});
		const pauseOf = (): number => Number(service.stderr().match(/next try in (\d+) s\n(?!.*next try)/s)?.[1] ?? 0);
		await until("a pause of 8 s", () => pauseOf() >= 8, 20_000);
		const { retryAt } = await crashing(service.url, id);
		writeFileSync(program, "setInterval(() => {}, 1000)");
		const health = (await seen(service.url, "/v1/endpoints/ours")).reason;
		expect(health).toMatchObject({ code: "crashed", retryAt });
		const { code, stdout } = await sluice(test, ["workers", "start", "ours"], {
			cwd: place.folder.path,
			env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY },
		});
		expect([code, stdout]).toEqual([0, expect.stringContaining("Starts are not paused.")]);
		const [worker] = await until("the worker", async () => {
			const { workers } = await seen(service.url, "/v1/endpoints/ours/workers");
			return workers.length > 0 && workers;
		});
		expect(new Date(worker.createdAt).getTime()).toBeLessThan(new Date(retryAt).getTime());
		await service.end();
	});
});

describe("a job whose workers die", { timeout: 120_000 }, () => {
	it("D16: has in its error, its attempts and its timeline how each of them ended", async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { ours: place.launched({ workersMax: 1 }) } });
		const id = await run(service, "ours", { ms: 60_000 });
		const signals = ["SIGKILL", "SIGSEGV", "SIGBUS"] as const;
		for (const [index, signal] of signals.entries()) {
			const { pid } = await until("the run", () => place.runs(id)[index]);
			process.kill(pid, signal);
			await until("its end", () => !isAlive(pid));
		}
		await until("the end", async () => (await jobAt(service, "ours", id)).status === "FAILED");
		const job = await seen(service.url, `/v1/endpoints/ours/jobs/${id}`);
		const ends = ["killed by signal 9, SIGKILL", "killed by signal 11, SIGSEGV", "killed by signal 7, SIGBUS"];
		expect(job.attempts.map((each: any) => each.workerEnd)).toEqual(ends);
		for (const [index, end] of ends.entries()) {
			const { workerId } = job.attempts[index];
			expect(job.error).toContain(`attempt ${index + 1} on worker ${workerId} (${end})`);
			expect(job.timeline).toContainEqual(
				expect.objectContaining({
					event: "lost",
					message: `Worker ${workerId} lost the job: ${end} (attempt ${index + 1}).`,
				}),
			);
		}
		await service.end();
	});
});
