/**
 * A balancer before several servers, no cleverer than docs/scaling.md asks for: each request goes
 * to the next one, whatever connection it came on.
 */
import { once } from "node:events";
import {
	Agent,
	createServer,
	type IncomingHttpHeaders,
	type IncomingMessage,
	request,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** A balancer on 127.0.0.1. */
export interface Balancer {
	readonly url: string;
	/**
	 * Requests that it could not bring to an answer, answered 502: no server was there, or the
	 * one that had the request closed it.
	 */
	readonly failed: readonly { method: string; path: string; why: string }[];
	/** Which of the servers take requests, as far as it knows. */
	readonly ready: readonly boolean[];
	close(): void;
}

/** Time between two questions whether a server takes requests, ms. */
const ASK_MS = 100;

/**
 * Before these servers, which may come and go at their addresses. Those whose `/readyz` is not 200
 * get nothing while there are others.
 */
export async function balancer(urls: readonly string[]): Promise<Balancer> {
	const servers = urls.map((url) => ({
		url: new URL(url),
		agent: new Agent({ keepAlive: true }),
		ready: true,
	}));
	const failed: Balancer["failed"][number][] = [];
	const closed = new AbortController();
	let turn = 0;

	async function watch(server: (typeof servers)[number]): Promise<void> {
		while (!closed.signal.aborted) {
			server.ready = await fetch(new URL("/readyz", server.url), {
				signal: AbortSignal.any([closed.signal, AbortSignal.timeout(2000)]),
			}).then(
				async (answer) => (await answer.text(), answer.ok),
				() => false,
			);
			await sleep(ASK_MS, undefined, { signal: closed.signal }).catch(() => {});
		}
	}

	/**
	 * Resolves when it is answered; rejects when it may be sent to another server, with `sent` when
	 * that one may have got it.
	 */
	function pass(
		req: IncomingMessage,
		res: ServerResponse,
		{ url, agent }: (typeof servers)[number],
		body: Buffer,
	): Promise<void> {
		return new Promise((resolve, reject) => {
			const { method = "GET", url: path = "/" } = req;
			const headers = without(req.headers, ["connection", "transfer-encoding"]);
			const onward = request(
				{
					host: url.hostname,
					port: url.port,
					method,
					path,
					headers: { ...headers, "content-length": body.length },
					agent,
				},
				(answer) => {
					res.writeHead(answer.statusCode!, without(answer.headers, ["connection", "keep-alive"]));
					answer.on("error", () => res.destroy());
					answer.pipe(res);
					resolve();
				},
			);
			onward.on("error", (error: NodeJS.ErrnoException) =>
				reject(Object.assign(error, { sent: error.syscall !== "connect" })),
			);
			res.on("close", () => onward.destroy());
			onward.end(body);
		});
	}

	async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
		const body = await buffer(req);
		turn += 1;
		const inTurn = servers.map((_, index) => servers[(turn + index) % servers.length]!);
		let why = "";
		for (const server of [...inTurn.filter(({ ready }) => ready), ...inTurn.filter(({ ready }) => !ready)]) {
			try {
				return await pass(req, res, server, body);
			} catch (error) {
				const { sent, message } = error as Error & { sent: boolean };
				if (res.destroyed) return;
				why = message;
				server.ready = false;
				if (sent && req.method === "POST") break;
			}
		}
		failed.push({ method: req.method!, path: req.url!, why });
		res.writeHead(502).end();
	}

	const listener = createServer(
		{ keepAliveTimeout: 75_000 },
		(req, res) => void answer(req, res).catch(() => res.destroy()),
	);
	await once(listener.listen(0, "127.0.0.1"), "listening");
	for (const server of servers) void watch(server);
	return {
		url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
		failed,
		get ready() {
			return servers.map(({ ready }) => ready);
		},
		close() {
			closed.abort();
			listener.close();
			listener.closeAllConnections();
			for (const { agent } of servers) agent.destroy();
		},
	};
}

/** Headers but those of one connection. */
function without(headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders {
	return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
