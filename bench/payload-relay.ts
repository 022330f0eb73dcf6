/**
 * The limit of payloads: a server that hands each body to a worker (of `sluice/worker`) and its
 * answer to the client, and does nothing else: no scan, no rows, no states. With a file as argument
 * it writes each body to that file and flushes it first, as a service must that loses nothing; the
 * file is written again from the start when it has 512 MB. Prints its port.
 */
import { open } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const FILE_BYTES = 512 * 2 ** 20;

const file = process.argv[2] === undefined ? undefined : await open(process.argv[2], "w+");
const clients = new Map<string, ServerResponse>();
const jobs: { id: string; body: Buffer[] }[] = [];
let take: { res: ServerResponse; limit: number } | undefined;
let next = 0;
let at = 0;
let flush: Promise<void> | undefined;
let nextFlush: Promise<void> | undefined;

/** One flush for all that is written by then. */
function flushed(): Promise<void> {
	return (nextFlush ??= (flush ?? Promise.resolve()).then(() => {
		nextFlush = undefined;
		flush = file!.datasync();
		return flush;
	}));
}

/** The body, kept if there is a file. */
async function received(req: IncomingMessage): Promise<Buffer[]> {
	const pieces: Buffer[] = [];
	for await (const piece of req) pieces.push(piece as Buffer);
	if (!file) return pieces;
	const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
	if (at + bytes > FILE_BYTES) at = 0;
	const place = at;
	at += bytes;
	await file.writev(pieces, place);
	await flushed();
	return pieces;
}

/** The members of the object in a body behind others. */
function answer(res: ServerResponse, parts: readonly (string | Buffer)[]): void {
	const bytes = parts.reduce((sum, { length }) => sum + length, 0);
	res.writeHead(200, { "Content-Type": "application/json", "Content-Length": bytes });
	res.cork();
	for (const part of parts) res.write(part);
	res.end();
}

const members = (body: readonly Buffer[]): Buffer[] =>
	body.map((piece, n) => (n === 0 ? piece.subarray(1) : piece));

function hand(): void {
	if (!take || jobs.length === 0) return;
	const { res, limit } = take;
	take = undefined;
	const parts = jobs
		.splice(0, limit)
		.flatMap(({ id, body }, n) => [`${n === 0 ? "[" : ","}{"id":"${id}",`, ...members(body)]);
	answer(res, [...parts, "]"]);
}

async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
	const { pathname, searchParams } = new URL(req.url!, "http://relay");
	if (pathname.startsWith("/job-stop/")) return;
	if (pathname.startsWith("/job-take")) {
		take = { res, limit: Number(searchParams.get("batch_size") ?? 1) };
		return hand();
	}
	const body = await received(req);
	if (pathname.startsWith("/job-done/")) {
		const id = pathname.split("/").at(-1)!;
		res.end("{}");
		answer(clients.get(id)!, [`{"id":"${id}","status":"COMPLETED",`, ...members(body)]);
		clients.delete(id);
		return;
	}
	const id = String((next += 1));
	clients.set(id, res);
	jobs.push({ id, body });
	hand();
}

// A client that has left in the middle of its body.
const server = createServer((req, res) => void handle(req, res).catch(() => res.destroy()));
server.listen(0, "127.0.0.1", () =>
	process.stdout.write(`${(server.address() as AddressInfo).port}\n`),
);
