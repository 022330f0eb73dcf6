/**
 * Platforms that send without end: an API server with one long line of output, a Docker daemon with an
 * endless `/info`, a `squeue` that prints on. For each: memory of the service, and the longest of the
 * calls of another client meanwhile. Prints JSON. `node bench/attacks/platforms.ts [seconds]`.
 */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { peakMb } from "../memory-of.ts";
import { attacked, print, sleep } from "./parts/attacked.ts";

const [seconds = "10"] = process.argv.slice(2);
/** Most bytes of one stream. */
const MOST = 1_000_000_000;
const PIECE = Buffer.alloc(1 << 20, "x");

let sent = 0;

function* pieces(): Generator<Buffer> {
	for (let bytes = 0; bytes < MOST; bytes += PIECE.length) {
		sent += PIECE.length;
		yield PIECE;
	}
}

/** Sends as fast as it is read. */
async function flood(response: ServerResponse): Promise<void> {
	await pipeline(pieces, response).catch(() => {});
}

const send = (response: ServerResponse, body: object): void => void response.end(JSON.stringify(body));

/** The Pods that were created, each running at once. */
const pods: any[] = [];
const watches = new Set<ServerResponse>();

async function apiServer(request: IncomingMessage, response: ServerResponse): Promise<void> {
	const { pathname, searchParams } = new URL(request.url!, "http://cluster");
	if (request.method === "POST") {
		const body: any = await json(request);
		body.metadata.uid = `uid-${pods.length}`;
		body.metadata.resourceVersion = "1";
		if (pathname.endsWith("/pods")) {
			const running = [{ name: "worker", state: { running: {} } }];
			const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }], containerStatuses: running };
			const pod = { ...body, spec: { ...body.spec, nodeName: "node" }, status };
			pods.push(pod);
			for (const watch of watches) watch.write(`${JSON.stringify({ type: "ADDED", object: pod })}\n`);
		}
		return send(response, body);
	}
	if (pathname.endsWith("/log")) return await flood(response.writeHead(200));
	if (searchParams.has("watch")) {
		watches.add(response.writeHead(200));
		return response.flushHeaders();
	}
	send(response, { metadata: { resourceVersion: "1" }, items: pathname.endsWith("/pods") ? pods : [] });
}

async function listening(handle: (request: IncomingMessage, response: ServerResponse) => unknown, at: string | number) {
	const server = createServer((request, response) => void handle(request, response)).listen(at as number);
	await once(server, "listening");
	return server;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-attack-"));
const bin = join(folder, "bin");
mkdirSync(bin);
for (const [name, script] of [
	["squeue", `head -c ${MOST} /dev/zero | tr '\\0' x`],
	["sbatch", "cat >/dev/null; echo 1"],
	["scontrol", "echo none"],
	["scancel", ":"],
	["sacct", ":"],
] as const)
	writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

const kubernetes = await listening(apiServer, 0);
const docker = await listening((_, response) => flood(response.writeHead(200)), join(folder, "docker.sock"));
const cluster = { server: `http://127.0.0.1:${(kubernetes.address() as AddressInfo).port}` };
const kubeconfig = join(folder, "kubeconfig");
writeFileSync(
	kubeconfig,
	JSON.stringify({
		clusters: [{ name: "a", cluster }],
		users: [{ name: "a", user: { token: "a" } }],
		contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
		"current-context": "a",
	}),
);

const PLATFORMS = {
	none: { launcher: { type: "external" }, env: {} },
	kubernetes: {
		launcher: { type: "kubernetes", image: "a", podTemplate: { spec: { hostNetwork: true } } },
		env: { KUBECONFIG: kubeconfig },
	},
	docker: { launcher: { type: "docker", image: "a" }, env: { DOCKER_HOST: `unix://${join(folder, "docker.sock")}` } },
	slurm: {
		launcher: { type: "slurm", command: ["true"], sharedDir: folder },
		env: { PATH: `${bin}:${process.env["PATH"]}` },
	},
};

const figures: Record<string, object> = {};
try {
	for (const [name, { launcher, env }] of Object.entries(PLATFORMS)) {
		sent = 0;
		const endpoint = { launcher, ...(name !== "none" && { workersMin: 1 }) };
		figures[name] = await attacked({ endpoint, env }, async ({ call, child }) => {
			const until = performance.now() + Number(seconds) * 1000;
			const times: number[] = [];
			let failed = 0;
			while (performance.now() < until && child.exitCode === null && child.signalCode === null) {
				const { status, ms } = await call("/v2/noop/health", { timeoutMs: Number(seconds) * 1000 });
				if (status !== 200) failed += 1;
				times.push(ms);
				await sleep(20);
			}
			const alive = child.exitCode === null && child.signalCode === null;
			const peak = alive ? peakMb(child.pid!) : null;
			return {
				alive,
				sentMb: Math.round(sent / 1e6),
				rssPeakMb: peak,
				calls: times.length,
				failed,
				longestMs: Math.max(...times),
			};
		});
	}
} finally {
	for (const server of [kubernetes, docker]) {
		server.close();
		server.closeAllConnections();
	}
	rmSync(folder, { recursive: true, force: true });
}
print("platforms", figures);
