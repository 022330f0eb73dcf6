/**
 * An HTTP server that knows no job, for tests of HTTP workers: `node http-worker-server.ts PORT`. In the folder PLACE
 * it leaves `server-PID` with its port and variables, and a line in `seen` for each thing that happens; the file
 * `loading` there keeps it from being ready, and `/slow` is answered once there is the file `release`.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";

const port = Number(process.argv[2]);
const place = process.env["PLACE"]!;
const saw = (what: string): void => appendFileSync(join(place, "seen"), `${what} ${process.pid}\n`);

/** Refused requests that are left, for `/busy`: those of two attempts, each of which asks again after 1 s. */
let refusals = 4;

function stream(response: ServerResponse): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	for (const token of ["one", "two", "three"]) response.write(`data: ${JSON.stringify({ token })}\n\n`);
	response.end("data: [DONE]\n\n");
}

const ROUTES: Readonly<Record<string, (response: ServerResponse, body: string) => void>> = {
	"/ready": (response) => {
		const isLoading = existsSync(join(place, "loading"));
		if (isLoading) saw("asked");
		response.writeHead(isLoading ? 503 : 200).end(isLoading ? "loading model" : "");
	},
	"/echo": (response, body) => response.setHeader("content-type", "application/json").end(`{"got":${body}}`),
	"/stream": stream,
	"/busy": (response) => {
		refusals -= 1;
		saw("busy");
		if (refusals >= 0) response.writeHead(429, { "retry-after": "0" }).end("later");
		else response.setHeader("content-type", "application/json").end('"free"');
	},
	"/hang": (response) => {
		saw("begun");
		response.on("close", () => saw("closed"));
	},
	"/slow": (response) => {
		saw("begun");
		const wait = (): void => {
			if (!existsSync(join(place, "release"))) return void setTimeout(wait, 20);
			response.setHeader("content-type", "application/json").end('"slow"');
		};
		wait();
	},
	"/end": (response) => {
		const hasEnded = existsSync(join(place, "ended"));
		if (hasEnded) return void response.setHeader("content-type", "application/json").end('"again"');
		writeFileSync(join(place, "ended"), "");
		process.stderr.write("the model is broken\n");
		process.exit(7);
	},
	"/sleep": (response) => {
		saw("slept");
		response.end();
	},
	"/wake": (response) => {
		saw("woke");
		response.end();
	},
};

createServer((request, response) => {
	let body = "";
	request.on("data", (piece: Buffer) => (body += piece.toString()));
	request.on("end", () => {
		const route = ROUTES[request.url ?? ""];
		if (route) route(response, body);
		else response.writeHead(404).end(`no route ${request.url}`);
	});
}).listen(port, "127.0.0.1", () => {
	writeFileSync(join(place, `server-${process.pid}`), JSON.stringify({ port, env: process.env }));
	saw("up");
});
process.on("SIGTERM", () => {
	saw("down");
	process.exit(0);
});
