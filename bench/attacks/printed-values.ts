/**
 * Workers print the values that they were started with: after these were replaced, after a crash and a restart of the
 * service, and at an end while no service runs. One value has 7,500 characters. Looks for them in the data folder, in
 * what the service logged and answers, and in what a collector of OTLP got. The logs of workers are left out: they
 * are what these printed. Prints JSON. `node bench/attacks/printed-values.ts`.
 */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { end, KEY } from "../processes.ts";
import { type Attacked, attacked, print } from "./parts/attacked.ts";
import { begunIn, launchedShell, livesIn } from "./parts/launched.ts";
import { eventually, judged } from "./parts/verdict.ts";

const PLANTED = "planted-";
const LONG = Array.from({ length: 450 }, (_, n) => `${PLANTED}long-${n}`).join(".");
const SAYS = 'echo "$1 $TOKEN, $STORED"; echo "$LONG"; echo "end of $1"';
const PRINTS = launchedShell(
	`say() { ${SAYS}; }; trap 'say asked' USR1; trap 'say ended; exit 3' TERM; while :; do sleep 0.2; done`,
);
const [WORKERS, NEW] = [3, 2];

/** Bytes that a collector got. */
const received: Buffer[] = [];
const collector = createServer((request, response) => {
	void buffer(request).then((body) => {
		received.push(body);
		response.end();
	});
}).listen(0, "127.0.0.1");
await once(collector, "listening");
const env = {
	OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
	OTEL_BSP_SCHEDULE_DELAY: "100",
};

/** How often this is in what it got. */
const collected = (text: string): number => Buffer.concat(received).toString("latin1").split(text).length - 1;

let logged = "";

/** Each start of the service has a stream of its own. */
function read({ child }: Attacked): void {
	child.stderr!.setEncoding("utf8").on("data", (piece: string) => (logged += piece));
}

async function isLogged(text: string, times: number): Promise<boolean> {
	return (await eventually(() => logged.split(text).length > times)) ?? false;
}

/** Files of the store and the service; the logs of workers are what these wrote themselves. */
function stored(folder: string): string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
		const path = join(entry.parentPath, entry.name);
		if (!entry.isFile() || path.startsWith(join(folder, "logs"))) return [];
		return readFileSync(path).includes(PLANTED) ? [path.slice(folder.length + 1)] : [];
	});
}

/** Everything that shows output of workers, with an admin key, but for their logs, which are as they were printed. */
async function answers({ url, call }: Attacked): Promise<{ shown: string[]; asked: number; printed: boolean }> {
	const paths = [
		...["/workers", "/workers?ended=true", "", "/releases"].map((path) => `/v1/endpoints/ep${path}`),
		...["/v1/logs?tail=1000", "/v1/audit?limit=100", "/v2/account/secrets", "/v2/serverless/ep/workers", "/metrics"],
	];
	const shown: string[] = [];
	for (const path of paths) {
		const text = await (await fetch(url + path, { headers: { authorization: `Bearer ${KEY}` } })).text();
		if (text.includes(PLANTED)) shown.push(path);
	}
	const { ended } = (await call("/v1/endpoints/ep/workers?ended=true")).json;
	return { shown, asked: paths.length, printed: JSON.stringify(ended).includes("end of ended") };
}

async function hasPrinted({ call }: Attacked, text: string): Promise<boolean> {
	const { json } = await call(`/v1/endpoints/ep/logs?search=${encodeURIComponent(text)}`);
	return json.lines.length > 0;
}

async function attack(service: Attacked): Promise<object> {
	const { call, folder } = service;
	read(service);
	const secret = JSON.stringify({ name: "stored", value: `${PLANTED}stored-one` });
	const { id } = (await call("/v2/account/secrets", { body: secret })).json;
	const values = (TOKEN: string) => ({ DIR: folder, TOKEN, STORED: "{{ RUNPOD_SECRET_stored }}", LONG });
	const launcher = { type: "process", command: PRINTS };
	const settings = { launcher, workersMin: WORKERS, workersMax: WORKERS, stopGraceMs: 5000 };
	const body = JSON.stringify({ id: "ep", ...settings, env: values(`${PLANTED}token-one`) });
	await call("/v1/endpoints", { body });
	await eventually(() => begunIn(folder).length === WORKERS);
	await isLogged('"event":"worker.launched"', WORKERS);
	const [unwatched, later, late] = begunIn(folder) as [number, number, number];
	await call(`/v2/account/secrets/${id}`, { method: "PATCH", body: JSON.stringify({ value: `${PLANTED}stored-two` }) });
	await end(service.child, "SIGKILL");
	process.kill(unwatched, "SIGTERM");
	await eventually(() => !livesIn(folder, unwatched));
	await service.restart("SIGKILL");
	read(service);
	await isLogged('"event":"worker.adopted"', WORKERS - 1);
	process.kill(later, "SIGUSR1");
	await eventually(() => hasPrinted(service, "end of asked"));
	const changed = JSON.stringify({ env: values(`${PLANTED}token-two`), workersMin: NEW, workersMax: NEW });
	await call("/v1/endpoints/ep", { method: "PATCH", body: changed });
	await service.restart("SIGKILL");
	read(service);
	// They are replaced, and print at their ends.
	const areOver = await eventually(() => ![later, late].some((pid) => livesIn(folder, pid)), 20_000);
	await call("/v1/endpoints/ep", { method: "PATCH", body: JSON.stringify({ workersMin: 0, workersMax: 0 }) });
	await eventually(async () => (await call("/v1/endpoints/ep/workers")).json?.workers.length === 0, 20_000);
	const { shown, asked, printed } = await answers(service);
	await end(service.child, "SIGTERM");
	return {
		...judged({
			answersWithValues: { found: shown.length, atMost: 0 },
			filesWithValues: { found: stored(folder).length, atMost: 0 },
			valuesInTheLog: { found: logged.split(PLANTED).length - 1, atMost: 0 },
			valuesAtTheCollector: { found: collected(PLANTED), atMost: 0 },
			// Otherwise nothing was looked for.
			outputInAnswers: { found: Number(printed), atLeast: 1 },
			tracesAtTheCollector: { found: received.length, atLeast: 1 },
			oldWorkersThatEnded: { found: areOver ? WORKERS : 0, atLeast: WORKERS },
		}),
		...{ asked, workers: begunIn(folder).length, longCharacters: LONG.length },
		found: { answers: shown, files: stored(folder) },
	};
}

try {
	print(
		"printed-values",
		await attacked({ env, stderr: "pipe", file: { management: { launcher: "docker" }, endpoints: {} } }, attack),
	);
} finally {
	collector.close();
	collector.closeAllConnections();
}
