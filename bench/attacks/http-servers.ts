/**
 * Jobs on two HTTP servers of Debian, Orthanc and aria2, while `kill -9` hits the service, adapters and servers in
 * turn: whether each job ends once, and well. Needs Linux and the packages orthanc and aria2. Prints JSON. `node
 * bench/attacks/http-servers.ts [jobs]`, of which each server gets half.
 */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ARIA2_ENV, aria2Command, DOWNLOADS } from "../../test/http-servers/aria2.ts";
import { COPIES, orthancCommand, withPictures } from "../../test/http-servers/orthanc.ts";
import { adapterProcess, serverProcess } from "../../test/http-servers/processes.ts";
import { lacking } from "../../test/http-servers/programs.ts";
import { end } from "../processes.ts";
import { attacked, type Attacked, counts, print, sleep } from "./parts/attacked.ts";
import { after, eventually, judged } from "./parts/verdict.ts";

const jobs = Number(process.argv[2] ?? 500);
/** Jobs of each server that run at a time, and that are submitted at once. */
const [AT_A_TIME, AT_ONCE] = [4, 10];
/** Jobs that end between two kills on one endpoint, so that a job is rarely lost three times, which fails it. */
const BETWEEN_KILLS = 3 * AT_A_TIME;
/** How long the other side of a server takes for a picture or a file, ms: the least, and by how much more. */
const [LEAST_MS, SPREAD_MS] = [300, 300];
const LONGEST_MS = 400_000;

const missing = process.platform === "linux" ? lacking("orthanc", "aria2") : "without Linux";
if (missing !== undefined) {
	print("http-servers", { skipped: missing });
	process.exit(0);
}

/** Takes pictures and gives files, slowly. */
async function otherSide(): Promise<{ url: string; server: Server }> {
	let asked = 0;
	const server = createServer((request, response) => {
		asked += 1;
		// A job of Orthanc takes two pictures there, one of aria2 a file.
		const ms = (LEAST_MS + ((asked * 37) % SPREAD_MS)) * (request.method === "GET" ? 2 : 1);
		request.resume().on("end", () => setTimeout(() => response.end('{"of":"a file"}'), ms));
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

const NAMES = ["orthanc", "aria2"] as const;
type Name = (typeof NAMES)[number];
type Victim = "service" | `${"adapter" | "server"} of ${Name}`;
const VICTIMS: readonly Victim[] = [
	...NAMES.map((name): Victim => `server of ${name}`),
	...NAMES.map((name): Victim => `adapter of ${name}`),
	"service",
];

/** Endpoints, and the input of their jobs. Their files are in `place`. */
async function endpointsIn(place: string, otherUrl: string) {
	const folders = { orthanc: join(place, "orthanc"), aria2: join(place, "aria2") };
	for (const folder of Object.values(folders)) mkdirSync(folder);
	const endpoint = (name: Name, command: string[], http: object, env: object = {}) => ({
		launcher: { type: "process", command },
		http: { port: 0, concurrency: AT_A_TIME, ...http },
		env: { PLACE: folders[name], ...env },
		limits: "off",
		workersMax: 1,
		idleTimeout: 3600,
		scalerType: "REQUEST_COUNT",
		scalerValue: 1,
	});
	const orthanc = orthancCommand(folders.orthanc, { url: otherUrl });
	const resources = await withPictures(orthanc, 2);
	return {
		endpoints: {
			orthanc: endpoint("orthanc", orthanc, COPIES),
			aria2: endpoint("aria2", aria2Command(folders.aria2), DOWNLOADS, ARIA2_ENV),
		},
		inputs: { orthanc: { resources }, aria2: { url: `${otherUrl}file` } },
	};
}

/** How many jobs of an endpoint have ended, and how many run. Undefined while the service does not answer. */
async function progressOf(service: Attacked, name: Name): Promise<{ ended: number; running: number } | undefined> {
	const { json } = await service.call(`/v2/${name}/health`);
	return json?.jobs && { ended: json.jobs.completed + json.jobs.failed, running: json.jobs.inProgress };
}

/** Kills in turn, each when jobs run there and enough have ended since the last kill there, until all have ended. */
async function killInTurn(service: Attacked, place: string, jobsOfEach: number): Promise<Victim[]> {
	const killed: Victim[] = [];
	const endedBefore: Record<Name, number> = { orthanc: 0, aria2: 0 };
	const isOver = after(LONGEST_MS);
	for (let turn = 0; !isOver(); turn += 1) {
		const victim = VICTIMS[turn % VICTIMS.length]!;
		const hit = NAMES.filter((name) => victim === "service" || victim.endsWith(name));
		const found = await eventually(async () => {
			const [orthanc, aria2] = await Promise.all(NAMES.map((name) => progressOf(service, name)));
			if (!orthanc || !aria2) return false;
			const known = { orthanc, aria2 };
			if (NAMES.every((name) => known[name].ended >= jobsOfEach)) return { isEnd: true };
			if (hit.every((name) => known[name].ended >= jobsOfEach)) return { isEnd: false };
			const isTime = hit.some(
				(name) => known[name].running > 0 && known[name].ended >= endedBefore[name] + BETWEEN_KILLS,
			);
			if (!isTime || !(await kill(service, victim, place))) return false;
			killed.push(victim);
			for (const name of hit) endedBefore[name] = known[name].ended;
			return { isEnd: false };
		}, LONGEST_MS);
		if (found?.isEnd) break;
	}
	return killed;
}

/** False if there is no such process now. */
async function kill(service: Attacked, victim: Victim, place: string): Promise<boolean> {
	if (victim === "service") {
		await service.restart("SIGKILL");
		return true;
	}
	const [kind, , name = ""] = victim.split(" ");
	const variable = `PLACE=${join(place, name)}`;
	const pid = kind === "adapter" ? adapterProcess(variable) : serverProcess(variable)?.pid;
	if (pid !== undefined) process.kill(pid, "SIGKILL");
	return pid !== undefined;
}

const place = mkdtempSync(join(tmpdir(), "sluice-attack-"));
const other = await otherSide();
try {
	const { endpoints, inputs } = await endpointsIn(place, other.url);
	const figures = await attacked({ file: { endpoints } }, async (service) => {
		const jobsOfEach = AT_ONCE * Math.ceil(jobs / NAMES.length / AT_ONCE);
		const began = performance.now();
		const ids: { name: Name; id: string }[] = [];
		// Faster than they run, so that most of them wait when the kills begin.
		const submit = async (name: Name): Promise<void> => {
			const { json } = await service.call(`/v2/${name}/run`, { body: JSON.stringify({ input: inputs[name] }) });
			ids.push({ name, id: json?.id });
		};
		while (ids.length < NAMES.length * jobsOfEach)
			await Promise.all(NAMES.flatMap((name) => Array.from({ length: AT_ONCE }, () => submit(name))));
		const killed = await killInTurn(service, place, jobsOfEach);
		const read = () =>
			Promise.all(ids.map(async ({ name, id }) => (await service.call(`/v2/${name}/status/${id}`)).json));
		const first = await read();
		// Late reports of workers that were killed would change a state now.
		await sleep(2000);
		const last = await read();
		const seconds = Math.round((performance.now() - began) / 1000);
		// Ends the workers, which outlive a service that is killed.
		await end(service.child, "SIGINT");
		const losses = (name: Name): number =>
			last.reduce((sum, job, n) => sum + (ids[n]!.name === name ? (job?.retries ?? 0) : 0), 0);
		return {
			...judged({
				accepted: { found: ids.filter(({ id }) => id !== undefined).length, atLeast: ids.length },
				completed: { found: last.filter((job) => job?.status === "COMPLETED").length, atLeast: ids.length },
				changedAfterItsEnd: {
					found: last.filter((job, n) => JSON.stringify(job) !== JSON.stringify(first[n])).length,
					atMost: 0,
				},
			}),
			jobs: ids.length,
			states: counts(last.map((job) => job?.status ?? "none")),
			kills: counts(killed),
			losses: Object.fromEntries(NAMES.map((name) => [name, losses(name)])),
			seconds,
		};
	});
	print("http-servers", figures);
} finally {
	other.server.closeAllConnections();
	other.server.close();
	rmSync(place, { recursive: true, force: true });
}
