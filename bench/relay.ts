/**
 * The yardstick of streams: a server that passes each chunk, posted by `relay-worker.ts`, on to the
 * client that waits for it, and keeps nothing. Prints its port.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Ends a stream. */
const END = "end";

const open = new Map<string, ServerResponse>();
const jobs: string[] = [];
const takes: ServerResponse[] = [];
let next = 0;

async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
	if (req.url === "/take") {
		const job = jobs.shift();
		if (job === undefined) takes.push(res);
		else res.end(job);
		return;
	}
	const body = await text(req);
	if (!req.url!.startsWith("/chunk/")) {
		const id = String((next += 1));
		open.set(id, res);
		res.writeHead(200, { "Content-Type": "text/event-stream" });
		const job = JSON.stringify({ id, input: JSON.parse(body) as unknown });
		const take = takes.shift();
		if (take) take.end(job);
		else jobs.push(job);
		return;
	}
	const id = req.url!.slice("/chunk/".length);
	const client = open.get(id)!;
	if (body === END) {
		client.end();
		open.delete(id);
	} else client.write((JSON.parse(body) as { output: string }).output);
	res.end("{}");
}

const server = createServer((req, res) => void handle(req, res));
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
