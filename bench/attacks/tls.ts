/**
 * The same load on plain HTTP and on built-in TLS: how many valid clients and workers are cut. 8
 * clients x 4 submissions of 9 MB, three results of 40 MB, and 10 clients that wait while 150
 * strangers connect to a service with 100 connections. Prints JSON. `node bench/attacks/tls.ts`.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as secureConnect } from "node:tls";
import { workerEnv } from "../processes.ts";
import { type Attacked, attacked, counts, print, sleep } from "./parts/attacked.ts";

const [CLIENTS, EACH, UPLOAD_BYTES, RESULT_BYTES] = [8, 4, 9_000_000, 40_000_000];
const [CONNECTIONS, WAITING, STRANGERS] = [100, 10, 150];

const folder = mkdtempSync(join(tmpdir(), "sluice-attack-"));
const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "1"];
execFileSync("openssl", [...made, "-keyout", key, "-out", cert], { stdio: "ignore" });

async function uploads({ call }: Attacked): Promise<number[]> {
	const body = `{"input":{"x":"${"x".repeat(UPLOAD_BYTES)}"}}`;
	const client = async (): Promise<number[]> => {
		const statuses = [];
		for (let count = 0; count < EACH; count += 1) statuses.push((await call("/v2/noop/run", { body })).status);
		return statuses;
	};
	return (await Promise.all(Array.from({ length: CLIENTS }, client))).flat();
}

async function results({ url, call }: Attacked): Promise<number[]> {
	const env = await workerEnv(url);
	const [token, worker] = [env["RUNPOD_AI_API_KEY"]!, env["RUNPOD_POD_ID"]!];
	const statuses = [];
	for (let count = 0; count < 3; count += 1) {
		await call("/v2/noop/run", { body: '{"input":{}}' });
		const { json } = await call(`/worker/noop/job-take/${worker}?job_in_progress=0`, { key: token });
		const body = `{"output":"${"x".repeat(RESULT_BYTES)}"}`;
		const done = `/worker/noop/job-done/${worker}/${json?.id}?isStream=false`;
		statuses.push((await call(done, { body, key: token })).status);
	}
	return statuses;
}

/** Statuses of the clients that wait for a job which nothing runs. */
async function waiting({ url, call }: Attacked): Promise<number[]> {
	const wait = () => call("/v2/noop/runsync?wait=8000", { body: '{"input":{}}' });
	const answers = Promise.all(Array.from({ length: WAITING }, wait));
	await sleep(1500);
	const { protocol, port } = new URL(url);
	const strangers: Socket[] = [];
	for (let count = 0; count < STRANGERS; count += 1) {
		const at = { port: Number(port), host: "127.0.0.1" };
		const socket = protocol === "https:" ? secureConnect({ ...at, rejectUnauthorized: false }) : connect(at);
		strangers.push(socket.on("error", () => {}));
	}
	const statuses = (await answers).map(({ status }) => status);
	for (const socket of strangers) socket.destroy();
	return statuses;
}

const figures: Record<string, object> = {};
for (const [name, args] of [
	["plain", []],
	["tls", ["--tls-cert", cert, "--tls-key", key]],
] as const) {
	const load = await attacked({ args: [...args] }, async (service) => ({
		results: counts(await results(service)),
		uploads: counts(await uploads(service)),
	}));
	const budgets = { connections: CONNECTIONS };
	const crowd = await attacked({ args: [...args], budgets }, async (service) => counts(await waiting(service)));
	figures[name] = { ...load, waiting: crowd };
}
rmSync(folder, { recursive: true });
print("tls", { about: "answers by status, 0: cut", ...figures });
