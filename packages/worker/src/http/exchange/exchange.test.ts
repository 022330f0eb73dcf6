import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
	answerWith,
	httpServer,
	manualClock,
	tcpServer,
	type TestServer,
} from "../../../../../test/support/worker-kit/http-servers.ts";
import { systemClock } from "../../clock.ts";
import { serverAt } from "./connection.ts";
import { exchange, type ExchangeOptions, readStart } from "./exchange.ts";

const servers: TestServer[] = [];
afterEach(async () => {
	for (const server of servers.splice(0)) await server.close();
});

const started = async (server: Promise<TestServer>): Promise<TestServer> => {
	servers.push(await server);
	return await server;
};

const options: ExchangeOptions = { method: "GET", path: "/", headers: {}, connectMs: 5000, clock: systemClock };
const ask = (port: number, more: Partial<ExchangeOptions> = {}) =>
	exchange(serverAt({ port }), { ...options, ...more });
const text = async (port: number, more: Partial<ExchangeOptions> = {}): Promise<string> => {
	const pieces: Buffer[] = [];
	for await (const piece of (await ask(port, more)).body) pieces.push(piece);
	return Buffer.concat(pieces).toString();
};

describe("exchange", () => {
	it("sends method, path, headers and a body that comes in pieces, on a connection of its own", async () => {
		const server = await started(httpServer((_request, response) => response.end("ok")));
		const body = { length: 4, pieces: () => ["ab", Buffer.from("cd")] };
		expect(await text(server.port, { method: "PUT", path: "/x?y=1", headers: { a: "b" }, body })).toBe("ok");
		expect(server.received).toMatchObject([{ method: "PUT", url: "/x?y=1", body: Buffer.from("abcd") }]);
		expect(server.received[0]!.headers).toEqual({
			a: "b",
			host: `127.0.0.1:${server.port}`,
			"content-length": "4",
			connection: "close",
		});
	});

	it("adds the prefix of a URL, and reaches a UNIX socket", async () => {
		const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
		const socket = join(folder, "s");
		const server = await started(httpServer((_request, response) => response.end(), socket));
		await exchange(serverAt({ socket }), options);
		const tcp = await started(httpServer((_request, response) => response.end()));
		await exchange(serverAt({ url: `http://127.0.0.1:${tcp.port}/api/` }), { ...options, path: "/x" });
		expect([server.received[0]!.headers.host, tcp.received[0]!.url]).toEqual(["localhost", "/api/x"]);
		rmSync(folder, { recursive: true });
	});

	it("follows no redirect and uses no proxy", async () => {
		const server = await started(
			httpServer((_request, response) => response.writeHead(302, { location: "/other", "set-cookie": "a=b" }).end()),
		);
		for (const name of ["HTTP_PROXY", "http_proxy"]) vi.stubEnv(name, "http://127.0.0.1:1");
		onTestFinished(() => void vi.unstubAllEnvs());
		expect((await ask(server.port)).status).toBe(302);
		await ask(server.port);
		expect(server.received.map(({ url, headers }) => [url, headers.cookie])).toEqual([
			["/", undefined],
			["/", undefined],
		]);
	});

	it.each<[string, Parameters<typeof answerWith>, string, string]>([
		["a reset without an answer", ["", (socket) => socket.resetAndDestroy()], "broken", "ECONNRESET"],
		["an end without an answer", [""], "broken", "socket hang up"],
		["half a head", ["HTTP/1.1 200 OK\r\ncontent-le"], "broken", "socket hang up"],
		["a body that is cut", ["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"], "broken", "within its answer"],
		[
			"a chunked body that is cut",
			["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab"],
			"broken",
			"within",
		],
		["what is not HTTP", ["SSH-2.0-x\r\n\r\n"], "invalid", "not valid HTTP"],
		["huge headers", [`HTTP/1.1 200 OK\r\na: ${"x".repeat(70_000)}\r\n\r\n`], "invalid", "Header overflow"],
	])("%s", async (_name, [sent, then], kind, message) => {
		const server = await started(tcpServer(answerWith(sent, then)));
		const failure = await text(server.port).catch((error: unknown) => error);
		expect(failure).toMatchObject({ kind, message: expect.stringContaining(message) });
	});

	it("a refused connection is not sent, nor one that takes longer than connectMs", async () => {
		const closed = await httpServer(() => {});
		await closed.close();
		await expect(ask(closed.port)).rejects.toMatchObject({ kind: "unsent" });
		// It accepts, and never answers the handshake of TLS.
		const silent = await started(tcpServer(() => {}));
		const clock = manualClock();
		const server = serverAt({ url: `https://127.0.0.1:${silent.port}` });
		const failure = exchange(server, { ...options, clock }).catch((error: unknown) => error);
		await clock.pass(5000);
		expect(await failure).toMatchObject({ kind: "unsent", message: "no connection within 5000 ms" });
	});

	it("an abort closes the connection, before and within the answer", async () => {
		const closed = Promise.withResolvers<void>();
		const server = await started(
			httpServer((_request, response) => {
				response.write("a");
				response.on("close", () => closed.resolve());
			}),
		);
		const aborted = AbortSignal.abort();
		await expect(ask(server.port, { signal: aborted })).rejects.toMatchObject({ kind: "unsent" });
		const stop = new AbortController();
		const answer = await ask(server.port, { signal: stop.signal });
		stop.abort();
		await closed.promise;
		await expect(readAll(answer.body)).rejects.toMatchObject({ kind: "broken" });
	});

	it("an answer that comes before the end of the request is read, and the rest is not sent", async () => {
		const server = await started(
			tcpServer(answerWith("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno", () => {})),
		);
		const body = {
			length: 1e12,
			*pieces() {
				for (;;) yield Buffer.alloc(65_536);
			},
		};
		const answer = await ask(server.port, { method: "POST", body });
		expect([answer.status, (await readAll(answer.body)).toString()]).toEqual([413, "no"]);
	});
});

describe("readStart", () => {
	it("reads no more than its bound of an endless body, and splits no character", async () => {
		const server = await started(
			httpServer((_request, response) => {
				const more = (): void => void (response.destroyed || response.write("é".repeat(9000), more));
				more();
			}),
		);
		const answer = await ask(server.port);
		const { text: start, end } = await readStart(answer, 4095, { ms: 5000, clock: systemClock });
		expect([start, end]).toEqual(["é".repeat(2047), "bound"]);
	});

	it("ends a body that never ends in time", async () => {
		const server = await started(httpServer((_request, response) => response.write("slow")));
		const clock = manualClock();
		const answer = await ask(server.port);
		const [piece] = await Promise.all([
			readStart(answer, 9, { ms: 700, clock }),
			new Promise((resolve) => setImmediate(resolve)).then(() => clock.pass(700)),
		]);
		expect(piece.end).toBe("cut");
	});
});

async function readAll(body: AsyncIterable<Buffer>): Promise<Buffer> {
	const pieces: Buffer[] = [];
	for await (const piece of body) pieces.push(piece);
	return Buffer.concat(pieces);
}
