/**
 * A service that has the route and the setting `http` of HTTP workers: a server in front of a real one, which keeps the
 * setting of each endpoint and passes all else on.
 */
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import type { TestContext } from "vitest";
import { resolveMapping } from "../../packages/worker/src/http/mapping-index.ts";

/** Address of the front. `endpoints`: their setting `http`. */
export async function httpMappingFront(
	{ onTestFinished }: Pick<TestContext, "onTestFinished">,
	service: string,
	endpoints: Record<string, unknown> = {},
): Promise<string> {
	const settings = new Map(Object.entries(endpoints));
	const tokens = new Set<string>();

	/** Sends the request on; returns the answer's status and text, or pipes it. */
	function pass(req: IncomingMessage, res: ServerResponse, body?: string): void {
		const headers = { ...req.headers, ...(body !== undefined && { "content-length": Buffer.byteLength(body) }) };
		const onward = httpRequest(service + req.url, { method: req.method, headers, agent: false }, (answer) => {
			res.writeHead(answer.statusCode!, answer.headers);
			if (req.url!.includes("/worker-env"))
				answer.on("data", (piece: Buffer) => {
					const token = /"RUNPOD_AI_API_KEY": ?"([^"]+)"/.exec(piece.toString())?.[1];
					if (token !== undefined) tokens.add(token);
				});
			answer.pipe(res);
		});
		onward.on("error", () => res.destroy());
		res.on("close", () => onward.destroy());
		if (body === undefined) req.pipe(onward);
		else onward.end(body);
	}

	async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
		const json = (status: number, value: unknown): void =>
			void res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
		if (req.method === "POST" && req.url === "/v1/endpoints") {
			const { http, ...others } = JSON.parse(await textOf(req)) as { id: string; http?: unknown };
			if (http !== undefined) settings.set(others.id, http);
			return pass(req, res, JSON.stringify(others));
		}
		const endpoint = /^\/v1\/endpoints\/([^/]+)\/http$/.exec(req.url!)?.[1];
		if (endpoint === undefined) return pass(req, res);
		const authorization = req.headers.authorization ?? "";
		if (!tokens.has(authorization.replace(/^Bearer /, ""))) {
			const found = await fetch(`${service}/v1/endpoints/${endpoint}`, { headers: { authorization } });
			if (!found.ok) return json(found.status, await found.json());
		}
		const http = settings.get(endpoint);
		if (http === undefined) return json(404, { error: `Endpoint '${endpoint}' has no setting http.`, code: "no_http" });
		// Where the server is, an argument of the command says.
		const members = typeof http === "string" ? { preset: http } : (http as object);
		const read = resolveMapping({ ...members, port: null, url: "http://127.0.0.1" });
		if (!read.ok) throw new Error(JSON.stringify(read.faults));
		const { url: _, ...mapping } = read.value;
		return json(200, { http, mapping });
	}

	const server = createServer((req, res) => void answer(req, res)).listen(0, "127.0.0.1");
	await new Promise((resolve) => server.once("listening", resolve));
	onTestFinished(() => {
		server.close();
		server.closeAllConnections();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
