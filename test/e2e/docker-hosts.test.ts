/**
 * A service whose workers are containers on two machines (D44): they come and go with the work and
 * outlive the service, the daemons and lost connections; no job is lost, no worker started twice.
 */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { freePort } from "../support/free-port.ts";
import { IMAGE, TAKES_ALL_MEMORY } from "../support/docker.ts";
import { type Machine, noHosts, titledHosts, twoMachines, type TwoMachines } from "../support/docker-hosts.ts";
import { call, KEY, type ServiceProcess } from "../support/service.ts";
import { until, within } from "../support/until.ts";
import { sluice } from "./command.ts";
import { upgrade, UPGRADED } from "./upgrade.ts";
import { ended, run, site, type Site, started, WORKER } from "./site.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

interface Place extends Site {
	id: string;
	/** Settings of an endpoint whose diary workers are containers on the machines. */
	contained(settings?: object, launcher?: object): object;
	begin(endpoints: Record<string, object>): Promise<ServiceProcess>;
	/** As `begin` did, with the same store. */
	again(): Promise<ServiceProcess>;
}

describe.skipIf(noHosts !== undefined)(titledHosts("a service with two Docker hosts"), { concurrent: true }, () => {
	let two: TwoMachines;
	let machines: Machine[];
	beforeAll(async () => {
		two = await twoMachines({ gpus: 1 });
		machines = [two.rig1, two.rig2];
	}, 120_000);
	afterAll(() => two?.close(), 60_000);

	async function hostSite(test: TestContext): Promise<Place> {
		const place = site(test);
		const { path } = place.folder;
		const id = `e2e-${randomBytes(4).toString("hex")}`;
		const port = await freePort();
		const hosts = Object.fromEntries(
			machines.map(({ name, gateway, settings }) => [name, { ...settings, workerUrl: `http://${gateway}:${port}` }]),
		);
		test.onTestFinished(async () => {
			for (const { docker } of machines) {
				const ids = await docker("ps", "--all", "--quiet", "--filter", `label=sluice.endpoint=${id}`);
				if (ids !== "") await docker("rm", "--force", ...ids.split("\n")).catch(() => {});
			}
		});
		const rest = {
			port,
			file: { hosts, hostTimeout: 10 },
			args: ["--drain-timeout", "0", "--host", "0.0.0.0"],
			env: { PATH: two.path },
		};
		return {
			...place,
			id,
			begin: (endpoints) => place.serve({ endpoints, ...rest }),
			again: () => place.serve(rest),
			contained: (settings = {}, launcher = {}) =>
				place.launched({
					launcher: {
						type: "docker",
						hosts: "all",
						image: IMAGE,
						command: ["node", WORKER[1]],
						volumes: [`${ROOT}:${ROOT}:ro`, `${path}:${path}`],
						...launcher,
					},
					...settings,
				}),
		};
	}

	/** Ids of its containers by machine, running or not. */
	async function containers({ id }: Place): Promise<string[][]> {
		const filter = ["ps", "--all", "--quiet", "--no-trunc", "--filter", `label=sluice.endpoint=${id}`];
		const texts = await Promise.all(machines.map(({ docker }) => docker(...filter)));
		return texts.map((text) => text.split("\n").filter((each) => each !== ""));
	}
	const noneLeft = (place: Place): Promise<true> =>
		until("no container is left", async () => (await containers(place)).flat().length === 0);
	const ups = (place: Place): string[] =>
		place
			.notes()
			.filter(({ what }) => what === "up")
			.map(({ worker }) => worker);

	it("D27, D28, D44: a burst starts three workers on both machines, and none is left after it", {
		timeout: 60_000,
	}, async (test) => {
		const place = await hostSite(test);
		const settings = { workersMax: 3, scalerType: "REQUEST_COUNT", scalerValue: 1, idleTimeout: 1 };
		const service = await place.begin({
			[place.id]: place.contained(settings, { placement: "spread" }),
		});
		expect((await containers(place)).flat()).toEqual([]);
		const jobs = [];
		for (let n = 0; n < 9; n += 1) jobs.push(await run(service, place.id, { until: "allowed", n }));
		await until("three runs at once", () => place.notes().filter(({ what }) => what === "run").length === 3);
		expect((await containers(place)).map((each) => each.length)).toEqual(expect.arrayContaining([1, 2]));
		const { hosts } = (await call(service.url, "/v1/hosts")).json;
		expect(hosts.flatMap(({ workers }: { workers: string[] }) => workers).toSorted()).toEqual(ups(place).toSorted());
		place.allow("allowed");
		for (const id of jobs) expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED" });
		await noneLeft(place);
		expect(new Set(ups(place)).size).toBe(3);
	});

	it("D34, D44: SIGTERM under load leaves workers on both machines, which the next start takes over", {
		concurrent: false,
		timeout: 60_000,
	}, async (test) => {
		const place = await hostSite(test);
		const service = await place.begin({ [place.id]: place.contained(UPGRADED, { placement: "spread" }) });
		const next = await upgrade(place, { endpoint: place.id, service, begin: place.again });
		expect((await containers(place)).map((each) => each.length)).toEqual([1, 1]);
		expect(await within("the stop", next.end())).toBe(0);
		await noneLeft(place);
	});

	it("D18, D44: a cancelled handler that blocks ends with its container within the grace and 2 s", {
		timeout: 60_000,
		concurrent: false,
	}, async (test) => {
		const place = await hostSite(test);
		const service = await place.begin({
			[place.id]: place.contained({ workersMax: 1, stopGraceMs: 500 }, { hosts: ["rig1"] }),
		});
		const id = await run(service, place.id, { block: 60_000 });
		await started(place, id);
		const began = performance.now();
		await call(service.url, `/v2/${place.id}/cancel/${id}`, { method: "POST" });
		await noneLeft(place);
		expect(performance.now() - began).toBeLessThan(2500);
	});

	it("D34, D44: a service that is killed under load takes all workers over again; nothing is lost", {
		concurrent: false,
		timeout: 90_000,
	}, async (test) => {
		const place = await hostSite(test);
		const settings = { workersMax: 4, scalerType: "REQUEST_COUNT", scalerValue: 1, idleTimeout: 1 };
		let service = await place.begin({
			[place.id]: place.contained(settings, { placement: "spread" }),
		});
		const jobs = [];
		for (let n = 0; n < 12; n += 1) jobs.push(await run(service, place.id, { until: "allowed", n }));
		await until("four runs at once", () => place.notes().filter(({ what }) => what === "run").length === 4);
		const before = (await containers(place)).flat().toSorted();
		await service.end("SIGKILL");
		service = await place.again();
		expect((await containers(place)).flat().toSorted()).toEqual(before);
		place.allow("allowed");
		for (const id of jobs) {
			const job = await ended(service, place.id, id);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
			expect(place.runs(id)).toHaveLength(1);
		}
		expect(ups(place)).toHaveLength(4);
		expect(service.stderr().match(/taken over/g)).toHaveLength(4);
		await noneLeft(place);
	});

	it("D44: both daemons are killed and restarted after 15 s: jobs go on, the next worker starts at once", {
		timeout: 120_000,
		concurrent: false,
	}, async (test) => {
		const place = await hostSite(test);
		const settings = { workersMax: 3, scalerType: "REQUEST_COUNT", scalerValue: 1 };
		const service = await place.begin({
			[place.id]: place.contained(settings, { placement: "spread" }),
		});
		const jobs = [];
		for (let n = 0; n < 2; n += 1) jobs.push(await run(service, place.id, { until: "first", n }));
		await until("both run", () => place.notes().filter(({ what }) => what === "run").length === 2);
		const before = (await containers(place)).flat().toSorted();
		await Promise.all(machines.map(({ kill }) => kill()));
		const down = performance.now();
		place.allow("first");
		for (const id of jobs) expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED" });
		// Further ones keep the same workers busy until after the outage.
		const later = [];
		for (let n = 0; n < 2; n += 1) later.push(await run(service, place.id, { until: "later", n }));
		await until("the hosts are unreachable", async () => {
			const { hosts } = (await call(service.url, "/v1/hosts")).json;
			return hosts.every(({ state }: { state: string }) => state === "unreachable");
		});
		const waiting = await run(service, place.id, { n: 2 });
		await until("15 s are over", () => performance.now() - down > 15_000);
		expect(ups(place)).toHaveLength(2);
		await Promise.all(machines.map(({ start }) => start()));
		await until("the next worker is started", async () => (await containers(place)).flat().length === 3, 5000);
		expect(await ended(service, place.id, waiting)).toMatchObject({ status: "COMPLETED" });
		place.allow("later");
		for (const id of later) {
			const job = await ended(service, place.id, id);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
		}
		await until("the hosts are reachable", async () => {
			const { hosts } = (await call(service.url, "/v1/hosts")).json;
			return hosts.every(({ state }: { state: string }) => state === "reachable");
		});
		expect((await containers(place)).flat()).toEqual(expect.arrayContaining(before));
		expect(ups(place)).toHaveLength(3);
		expect(await within("the stop", service.end())).toBe(0);
		await noneLeft(place);
	});

	it("D44: a machine that stays unreachable gets its worker elsewhere; what returns is removed", {
		timeout: 120_000,
		concurrent: false,
	}, async (test) => {
		const place = await hostSite(test);
		const service = await place.begin({
			[place.id]: place.contained({ workersMax: 1, leaseMs: 3000 }, { hosts: ["rig1", "rig2"] }),
		});
		const id = await run(service, place.id, { until: "allowed" });
		const { worker } = await started(place, id);
		const [lost, other] = (await containers(place))[0]!.length === 1 ? machines : machines.toReversed();
		await lost!.connect(false);
		try {
			const why = await until(
				"the reason",
				async () => {
					const { reason } = (await call(service.url, `/v1/endpoints/${place.id}`)).json;
					return reason?.code === "node_failed" && reason.message;
				},
				60_000,
			);
			expect(why).toMatch(
				new RegExp(`^Host ${lost!.name} is unreachable for \\d+ s; after 10 s its worker is given up`),
			);
			await until("it runs on the other one", () => place.runs(id).length === 2, 60_000);
			expect(place.runs(id)[1]!.worker).not.toBe(worker);
			expect(await other!.docker("ps", "--quiet", "--filter", `label=sluice.endpoint=${place.id}`)).not.toBe("");
		} finally {
			await lost!.connect(true);
		}
		const left = ["ps", "--all", "--quiet", "--filter", `label=sluice.worker=${worker}`];
		await until("the old one is removed", async () => (await lost!.docker(...left)) === "");
		place.allow("allowed");
		expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED", retries: 1 });
	});

	it("D36, D44: 'sluice hosts' drains a machine: its worker ends after its job, the next is elsewhere", {
		timeout: 60_000,
	}, async (test) => {
		const place = await hostSite(test);
		let service = await place.begin({ [place.id]: place.contained({ workersMax: 2 }) });
		const env = { SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
		const hosts = async (...args: string[]): Promise<string> => {
			const { code, stdout, stderr } = await sluice(test, ["hosts", ...args], {
				cwd: place.folder.path,
				env,
			});
			expect(code, stderr).toBe(0);
			return stdout;
		};
		const id = await run(service, place.id, { until: "allowed" });
		await started(place, id);
		expect((await containers(place)).map((each) => each.length)).toEqual([1, 0]);
		expect(await hosts()).toMatch(/^rig1 +reachable +\S+ \S+ +0 of 1 used +1 .*GB/m);
		expect(await hosts("drain", "rig1")).toMatch(/^Host rig1 is drained/);
		const other = await run(service, place.id, {});
		expect(await ended(service, place.id, other)).toMatchObject({ status: "COMPLETED" });
		expect((await containers(place)).map((each) => each.length)).toEqual([1, 1]);
		await service.end("SIGKILL");
		service = await place.again();
		expect(await hosts()).toMatch(/^rig1 +reachable, drained /m);
		place.allow("allowed");
		expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED" });
		await until("the machine is empty", async () => (await containers(place))[0]!.length === 0);
		expect(await hosts("resume", "rig1")).toBe("Host rig1 is resumed.\n");
		expect(await hosts()).toMatch(/^rig1 +reachable +/m);
		const { entries } = (await call(service.url, "/v1/audit")).json;
		expect(entries.map(({ action, subject }: { action: string; subject: string[] }) => [action, subject])).toEqual([
			["resumeHost", ["rig1"]],
			["drainHost", ["rig1"]],
		]);
	});

	it("D28, D44: an idle worker ends at once for a job of another endpoint that finds no GPU, and only one", {
		// Its workers hold the GPUs of both machines, which other tests read.
		concurrent: false,
		timeout: 90_000,
	}, async (test) => {
		const place = await hostSite(test);
		const settings = { gpusPerWorker: 1, workersMax: 2, scalerType: "REQUEST_COUNT", scalerValue: 1, idleTimeout: 600 };
		const [first, second] = [`${place.id}-a`, `${place.id}-b`];
		const service = await place.begin({ [first]: place.contained(settings), [second]: place.contained(settings) });
		const jobs = await Promise.all([run(service, first, { until: "go" }), run(service, first, { until: "go" })]);
		for (const id of jobs) await started(place, id);
		place.allow("go");
		for (const id of jobs) await ended(service, first, id);
		const began = performance.now();
		await ended(service, second, await run(service, second, {}), 40_000);
		console.log(`docker hosts: another endpoint's job ended ${Math.round(performance.now() - began)} ms after it came`);
		expect((await call(service.url, `/v1/endpoints/${first}/workers`)).json.workers).toHaveLength(1);
		for (const endpoint of [first, second]) await call(service.url, `/v1/endpoints/${endpoint}`, { method: "DELETE" });
		for (const each of [first, second]) await noneLeft({ ...place, id: each });
	});

	it("D29, D44: missing image, crash loop, too little memory, no place: each has its reason within 15 s", {
		timeout: 90_000,
	}, async (test) => {
		const place = await hostSite(test);
		const node = (code: string): object => ({ command: ["node", "-e", code] });
		const service = await place.begin({
			missing: place.contained({}, { image: "no-such-image:1" }),
			crashing: place.contained({}, node("console.log('no model'); process.exit(3)")),
			greedy: place.contained({}, { command: ["sh", "-c", TAKES_ALL_MEMORY], memory: "64m" }),
			nowhere: place.contained({ gpusPerWorker: 1 }, { gpu: { model: "H100" } }),
		});
		const reasons = await Promise.all(
			["missing", "crashing", "greedy", "nowhere"].map(async (id) => {
				await run(service, id, {});
				const { reason } = await until(
					`the reason of ${id}`,
					async () => {
						const { json } = await call(service.url, `/v1/endpoints/${id}`);
						return json.reason && json;
					},
					15_000,
				);
				return [id, reason.code, reason.message];
			}),
		);
		expect(reasons).toEqual([
			["missing", "start_failed", expect.stringContaining("No such image: no-such-image:1")],
			["crashing", "crashed", expect.stringContaining("exit code 3")],
			["greedy", "out_of_memory", expect.stringContaining("more memory than its limit of 64 MiB")],
			[
				"nowhere",
				"unschedulable",
				"No host has room for a worker: rig1: 0 of 1 GPUs are H100; rig2: 0 of 1 GPUs are H100.",
			],
		]);
		for (const endpoint of ["missing", "crashing", "greedy", "nowhere"])
			await call(service.url, `/v1/endpoints/${endpoint}`, { method: "DELETE" });
	});
});
