/** HTTP servers as batch jobs of a real Slurm, with a service that puts their adapter into the shared folder. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { processTable } from "../../src/kernel/launchers/process/process-table.ts";
import { httpEndpoints, over, ran, submitted } from "../spec/http/http-endpoints.ts";
import { call, folder, type Folder, startService, type TestService } from "../support/service.ts";
import { noSlurm, type SlurmCluster, startSlurm, titled } from "../support/slurm.ts";
import { until } from "../support/until.ts";
import { runs } from "./sample-workers.ts";

describe.skipIf(noSlurm !== undefined)(titled("HTTP servers as Slurm jobs"), { timeout: 120_000 }, () => {
	/** Of all tests, so that Node is copied once. */
	const sharedDir = mkdtempSync(join(tmpdir(), "sluice-slurm-http-"));
	let cluster: SlurmCluster;
	let place: Folder;
	let bed: ReturnType<typeof httpEndpoints>;
	let service: TestService;
	let id: string;

	beforeAll(async () => {
		cluster = await startSlurm();
		for (const [name, value] of Object.entries(cluster.env)) vi.stubEnv(name, value);
	}, 60_000);
	beforeEach(() => {
		place = folder();
		bed = httpEndpoints(place);
		id = `http-${randomBytes(4).toString("hex")}`;
	});
	afterEach(async () => {
		await service.end();
		await cluster.endJobs(`:${id}:`);
		place.remove();
	});
	afterAll(() => {
		cluster.remove();
		vi.unstubAllEnvs();
		rmSync(sharedDir, { recursive: true, force: true });
	});

	function endpoint(rest: object = {}, launcher: object = {}): object {
		const { command } = (bed.endpoint() as { launcher: { command: string[] } }).launcher;
		return bed.endpoint({}, { launcher: { type: "slurm", command, sharedDir, memory: "1G", ...launcher }, ...rest });
	}

	async function serve(of = endpoint()): Promise<void> {
		service = await startService({ endpoints: { [id]: of }, in: place });
	}

	const send = (route: string): Promise<string> => submitted(service.url, id, { route });
	const end = (job: string): Promise<any> => over(service.url, id, job);

	it("a job is a request to a server that knows none; two on one node have ports of their own", async () => {
		await serve(endpoint({ workersMax: 2 }));
		const slow = await send("slow");
		await bed.seen("begun");
		const input = { route: "echo", text: "größer" };
		expect(await ran(service.url, id, input)).toMatchObject({ status: "COMPLETED", output: { got: input } });
		bed.release();
		expect(await end(slow)).toMatchObject({ status: "COMPLETED", output: "slow" });
		expect(new Set(bed.servers().map(({ port }) => port)).size).toBe(2);
		expect(await cluster.active(`:${id}:`)).toHaveLength(2);
	});

	it("D26: the server gets nothing of the worker that gives access to the service", async () => {
		await serve();
		await ran(service.url, id, { route: "echo" });
		const [{ pid } = { pid: 0 }] = bed.servers();
		const adapter = processTable.find(pid)!.parent!;
		const variablesOf = (process: number): string[] => readFileSync(`/proc/${process}/environ`, "utf8").split("\0");
		const access = /^(?:RUNPOD_WEBHOOK_.*|RUNPOD_AI_API_KEY|SLUICE_HTTP)=|sluice_worker_/;
		expect(variablesOf(adapter).some((entry) => access.test(entry))).toBe(true);
		expect(variablesOf(pid).filter((entry) => access.test(entry))).toEqual([]);
		expect(variablesOf(pid)).toContain(`PLACE=${place.path}`);
		const openFiles = readdirSync(`/proc/${pid}/fd`).map((name) => readlinkSync(`/proc/${pid}/fd/${name}`));
		expect(openFiles.filter((path) => path.startsWith(sharedDir) && !path.endsWith(".log"))).toEqual([]);
		const files = readdirSync(sharedDir, { recursive: true, encoding: "utf8" });
		const [own] = files.filter((path) => path.includes(`/${id}/`) && path.endsWith(".env"));
		expect(statSync(join(sharedDir, own!)).size).toBe(0);
		// Node and the kit, once for all services.
		expect(files.filter((path) => path.endsWith("/node"))).toHaveLength(1);
		expect(readlinkSync(`/proc/${adapter}/exe`)).toBe(join(sharedDir, files.find((path) => path.endsWith("/node"))!));
	});

	it("a cancelled job ends on the server", async () => {
		await serve();
		const job = await send("hang");
		await bed.seen("begun");
		await call(service.url, `/v2/${id}/cancel/${job}`, { method: "POST" });
		await bed.seen("closed");
		expect(await end(job)).toMatchObject({ status: "CANCELLED" });
		expect(await ran(service.url, id, { route: "echo" })).toMatchObject({ status: "COMPLETED" });
		expect(bed.servers()).toHaveLength(1);
	});

	it("D28: the exit code and the last lines of a server are the worker's, and its job runs again", async () => {
		await serve();
		const exited = service.next("worker.exited");
		const job = await send("end");
		const { code, lastOutput } = await exited;
		expect(code).toBe(7);
		expect(lastOutput).toContain("the model is broken\n");
		expect(await end(job)).toMatchObject({ status: "COMPLETED", output: "again" });
	});

	it("D18: a signal for the batch script lets the job end, then the server", async () => {
		await serve();
		const job = await send("slow");
		await bed.seen("begun");
		const exited = service.next("worker.exited");
		const [worker] = await cluster.active(`:${id}:`);
		await cluster.run("scancel", "--batch", "--signal=TERM", worker!.id);
		bed.release();
		expect(await end(job)).toMatchObject({ status: "COMPLETED", output: "slow" });
		expect(await exited).toMatchObject({ code: 0 });
		await bed.seen("down");
	});

	it("D34: a server whose adapter is killed ends, although Slurm does not find it", async () => {
		await serve(endpoint({ workersMin: 1 }));
		await ran(service.url, id, { route: "echo" });
		const [server] = bed.servers();
		const exited = service.next("worker.exited");
		process.kill(processTable.find(server!.pid)!.parent!, "SIGKILL");
		expect(await exited).toMatchObject({ signal: "SIGKILL" });
		await until("the server to end", () => !runs(server!.pid));
	});

	it("D29: an adapter that the node does not have is the reason of the endpoint", async () => {
		await serve(endpoint({}, { adapterCommand: ["no-such-adapter"] }));
		const exited = service.next("worker.exited");
		await send("echo");
		expect((await exited).reason).toMatchObject({ code: "config", message: expect.stringContaining("adapterCommand") });
		expect(bed.servers()).toEqual([]);
	});
});
