/** A proxy before a cluster's API server: it can hold or lose the answers to creations of Pods. */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { LAUNCHER, serverOf } from "./kubernetes.ts";

export interface KubernetesProxy {
	/** Writes a kubeconfig of the user `launcher` by way of this proxy. */
	writeKubeconfig(path: string): void;
	/**
	 * Holds the next creation of a Pod. Resolves when it has arrived, with a function that sends it to
	 * the API server and resolves with the status of the answer.
	 */
	holdCreation(): Promise<() => Promise<number>>;
	/** The next creation of a Pod succeeds, and its answer is lost. */
	loseAnswer(): void;
	close(): void;
}

export async function kubernetesProxy(): Promise<KubernetesProxy> {
	const upstream = serverOf(LAUNCHER);
	let losing = false;
	let holder: ((send: () => Promise<number>) => void) | undefined;

	/** Resolves with the status of the answer. */
	function forward(from: IncomingMessage, body: Buffer, to: ServerResponse): Promise<number> {
		const lost = losing && isCreation(from);
		if (lost) losing = false;
		return new Promise((done) => {
			const call = request(new URL(from.url!, upstream), {
				method: from.method!,
				headers: { ...from.headers, host: new URL(upstream).host },
				rejectUnauthorized: false,
			});
			call.once("response", (answer) => {
				if (lost) {
					answer.resume().once("end", () => to.destroy());
				} else {
					to.writeHead(answer.statusCode!, answer.headers);
					answer.pipe(to);
				}
				done(answer.statusCode!);
			});
			call.once("error", () => to.destroy());
			to.once("close", () => call.destroy());
			call.end(body);
		});
	}

	async function handle(from: IncomingMessage, to: ServerResponse): Promise<void> {
		const body = Buffer.concat(await Array.fromAsync(from));
		const hold = holder;
		if (!hold || !isCreation(from)) return void forward(from, body, to);
		holder = undefined;
		hold(() => forward(from, body, to));
	}

	const server = createServer((from, to) => void handle(from, to));
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as AddressInfo;

	return {
		writeKubeconfig(path) {
			const text = readFileSync(LAUNCHER, "utf8").replaceAll(upstream, `http://127.0.0.1:${port}`);
			writeFileSync(path, text);
		},
		holdCreation: () => new Promise((done) => (holder = done)),
		loseAnswer: () => void (losing = true),
		close() {
			server.close();
			server.closeAllConnections();
		},
	};
}

function isCreation({ method, url }: IncomingMessage): boolean {
	return method === "POST" && /\/pods(\?|$)/.test(url!);
}
