/**
 * How late another endpoint's webhooks are while one write key attacks: 1,000 receivers that hang, 40
 * names that no name server answers for, both. `node bench/attacks/webhooks.ts [checkout]`, after
 * `npm run build` there; six minutes, loopback only. The names need `unshare` and root, for a
 * `resolv.conf` of their own; without, that part is left out.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { machine, median } from "../machine.ts";
import { KEY, end } from "../processes.ts";

const checkout = resolve(process.argv[2] ?? ".");
const HANGING = 1000;
const NAMES = 40;
const VICTIMS = 20;
const VICTIM_EVERY_MS = 500;
/** From the start of the attack to the first webhook that is measured. */
const HEAD_START_MS = 3000;
/** A webhook that has not arrived by then counts as lost. */
const LONGEST_MS = 60_000;
const NAME_SERVER = "127.0.0.153";
const isRoot = process.getuid?.() === 0;

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
const closers: (() => void)[] = [];

async function listening(server: Server): Promise<number> {
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	closers.push(() => server.close());
	return (server.address() as AddressInfo).port;
}

/** Ports that accept connections and never answer. */
async function hangingPorts(): Promise<number[]> {
	const open = new Set<Socket>();
	closers.push(() => open.forEach((socket) => socket.destroy()));
	return await Promise.all(
		Array.from({ length: HANGING }, () =>
			listening(createTcpServer((socket) => open.add(socket.on("error", () => {})))),
		),
	);
}

async function startService(folder: string): Promise<{ url: string; child: ChildProcess }> {
	const endpoint = { launcher: { type: "external" }, limits: "off" };
	const config = join(folder, "sluice.yaml");
	writeFileSync(
		config,
		JSON.stringify({
			webhooks: { allowPrivateNetworks: true },
			endpoints: { attacked: endpoint, other: endpoint },
		}),
	);
	const conf = join(folder, "resolv.conf");
	writeFileSync(conf, `nameserver ${NAME_SERVER}\n`);
	const serve = [process.execPath, join(checkout, "bin/sluice.js"), "serve", "--config", config];
	serve.push("--port", "0", "--store", `sqlite:${join(folder, "sluice.db")}`);
	const mount = `mount --bind "${conf}" /etc/resolv.conf && exec "$@"`;
	const [command = "", ...args] = isRoot ? ["unshare", "--mount", "sh", "-c", mount, "sh", ...serve] : serve;
	const child = spawn(command, args, {
		cwd: folder,
		stdio: ["ignore", "pipe", "ignore"],
		env: { ...process.env, SLUICE_API_KEY: KEY, SLUICE_SECRET: KEY },
	});
	const url = await new Promise<string>((done, failed) => {
		createInterface({ input: child.stdout }).on("line", (line) => {
			const found = /http:\/\/[\d.:]+/.exec(line);
			if (found) done(found[0]);
		});
		child.once("exit", (code) => failed(new Error(`the service ended with code ${code}`)));
	});
	return { url, child };
}

/** A job with this webhook that ends at once. */
async function endedJob(url: string, endpoint: string, webhook: string): Promise<void> {
	const call = async (path: string, body?: object): Promise<{ id: string }> => {
		const answer = await fetch(`${url}/v2/${endpoint}/${path}`, {
			method: "POST",
			headers: { authorization: `Bearer ${KEY}` },
			...(body ? { body: JSON.stringify(body) } : {}),
		});
		if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
		return (await answer.json()) as { id: string };
	};
	await call(`cancel/${(await call("run", { input: {}, webhook })).id}`);
}

async function measured(attacks: readonly string[]): Promise<object> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
	const arrivals = new Map<string, number>();
	const receiver = createServer((request, response) => {
		arrivals.set(request.url!, performance.now());
		request.resume().on("end", () => response.end());
	});
	const port = await listening(receiver);
	const { url, child } = await startService(folder);
	try {
		// The receiver is known to answer before the attack, as any receiver in use is.
		for (const endpoint of ["attacked", "other"])
			await endedJob(url, endpoint, `http://localhost:${port}/before-${endpoint}`);
		while (arrivals.size < 2) await sleep(50);
		for (let at = 0; at < attacks.length; at += 20)
			await Promise.all(attacks.slice(at, at + 20).map((hook) => endedJob(url, "attacked", hook)));
		await sleep(HEAD_START_MS);
		const sent = new Map<string, number>();
		for (let n = 0; n < VICTIMS; n += 1) {
			for (const endpoint of ["attacked", "other"]) {
				sent.set(`/${endpoint}-${n}`, performance.now());
				await endedJob(url, endpoint, `http://localhost:${port}/${endpoint}-${n}`);
			}
			await sleep(VICTIM_EVERY_MS);
		}
		const last = performance.now() + LONGEST_MS;
		while (arrivals.size < 2 + sent.size && performance.now() < last) await sleep(100);
		return Object.fromEntries(
			["other", "attacked"].map((endpoint) => {
				const own = [...sent].filter(([path]) => path.startsWith(`/${endpoint}-`));
				const times = own.flatMap(([path, at]) => {
					const arrived = arrivals.get(path);
					return arrived === undefined ? [] : [Math.round(arrived - at)];
				});
				return [endpoint, { p50Ms: median(times), maxMs: Math.max(...times), lost: own.length - times.length }];
			}),
		);
	} finally {
		await end(child, "SIGKILL");
		receiver.closeAllConnections();
		rmSync(folder, { recursive: true, force: true });
	}
}

if (isRoot) {
	const silent = createSocket("udp4");
	silent.bind(53, NAME_SERVER);
	await once(silent, "listening");
	closers.push(() => silent.close());
}
const hanging = (await hangingPorts()).map((port) => `http://127.0.0.1:${port}/`);
const names = Array.from({ length: NAMES }, (_, n) => `http://dead${n}.example/`);
const webhooks: Record<string, object> = { idle: await measured([]) };
webhooks["hangingReceivers"] = await measured(hanging);
if (isRoot) {
	webhooks["silentNames"] = await measured(names);
	webhooks["both"] = await measured([...names, ...hanging]);
}
const result = {
	bench: "attacks/webhooks",
	...machine(),
	checkout,
	hanging: HANGING,
	names: NAMES,
	webhooks,
};
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
for (const close of closers) close();
