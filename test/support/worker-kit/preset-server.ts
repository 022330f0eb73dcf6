/** Fake servers of presets: answers by route, and a job before them. */
import type { ServerResponse } from "node:http";
import type { Received } from "./http-servers.ts";
import { handlerOf, json } from "./job-handler.ts";

/** Answers a request. */
export type Answer = (response: ServerResponse, request: Received) => void;

/**
 * A server with answers by method, path and parameters. Others are 404. As to real servers, the order of parameters
 * does not matter, nor do further ones.
 */
export const answers =
	(table: Readonly<Record<string, Answer>>) =>
	(request: Received, response: ServerResponse): void => {
		const asked = new URL(request.url, "http://server");
		const [, answer] =
			Object.entries(table).find(([route]) => {
				const [method, url = ""] = route.split(" ");
				const { pathname, searchParams } = new URL(url, "http://server");
				if (method !== request.method || pathname !== asked.pathname) return false;
				return [...searchParams].every(([name, value]) => asked.searchParams.get(name) === value);
			}) ?? [];
		if (answer) answer(response, request);
		else response.writeHead(404).end("no such route");
	};

/** An answer of JSON. */
export const sends =
	(value: unknown, status = 200): Answer =>
	(response) =>
		json(response, value, status);

/** An answer with another content type than JSON. */
export const sendsBody =
	(body: string | Buffer, type: string): Answer =>
	(response) =>
		void response.writeHead(200, { "content-type": type }).end(body);

/** An answer of server-sent events. */
export const events = (...data: string[]): Answer =>
	sendsBody(data.map((each) => `data: ${each}\n\n`).join(""), "text/event-stream");

/** Runs a job on a preset before a server. */
export async function runPreset(
	preset: string,
	input: unknown,
	table: Readonly<Record<string, Answer>>,
	more: object = {},
) {
	const { run: start, server } = await handlerOf({ preset, ...more }, answers(table));
	const output = await start(input);
	const bodies = server.received.map(({ body }) => body.toString());
	const paths = server.received.map(({ method, url }) => `${method} ${url}`);
	return { output, bodies, paths };
}
