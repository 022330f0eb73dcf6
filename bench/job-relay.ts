/**
 * The limit of jobs: a server that hands each body to a worker (of `sluice/worker`) and its answer
 * to the client, and does nothing else: no scan, no states. With a file or the URL of a PostgreSQL
 * database as argument it keeps each body there before it passes it on, as a service must that loses
 * nothing (`relay-keeper.ts`). Prints its port.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileKeeper, postgresKeeper } from "./relay-keeper.ts";

const place = process.argv[2];
const keep =
	place === undefined ? undefined : await (place.startsWith("postgres") ? postgresKeeper(place) : fileKeeper(place));
const clients = new Map<string, ServerResponse>();
const jobs: { id: string; body: Buffer[] }[] = [];
let take: { res: ServerResponse; limit: number } | undefined;
let next = 0;

async function received(req: IncomingMessage): Promise<Buffer[]> {
	const pieces: Buffer[] = [];
	for await (const piece of req) pieces.push(piece as Buffer);
	await keep?.(pieces);
	return pieces;
}

/** Takes tell the worker that results may come together. */
function answer(res: ServerResponse, parts: readonly (string | Buffer)[], isTake = false): void {
	const bytes = parts.reduce((sum, { length }) => sum + length, 0);
	const together = isTake ? { "Sluice-Job-Done-Batch": "128" } : {};
	res.writeHead(200, {
		"Content-Type": "application/json",
		"Content-Length": bytes,
		...together,
	});
	res.cork();
	for (const part of parts) res.write(part);
	res.end();
}

/** The members of the object in a body, behind others. */
const members = (body: readonly Buffer[]): Buffer[] => body.map((piece, n) => (n === 0 ? piece.subarray(1) : piece));

function hand(): void {
	if (!take || jobs.length === 0) return;
	const { res, limit } = take;
	take = undefined;
	const parts = jobs
		.splice(0, limit)
		.flatMap(({ id, body }, n) => [`${n === 0 ? "[" : ","}{"id":"${id}",`, ...members(body)]);
	answer(res, [...parts, "]"], true);
}

function give(id: string, parts: readonly (string | Buffer)[]): void {
	answer(clients.get(id)!, parts);
	clients.delete(id);
}

async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
	const { pathname, searchParams } = new URL(req.url!, "http://relay");
	if (pathname.startsWith("/job-stop/")) return;
	if (pathname.startsWith("/job-take")) {
		take = { res, limit: Number(searchParams.get("batch_size") ?? 1) };
		return hand();
	}
	const body = await received(req);
	if (pathname.startsWith("/job-done-batch/")) {
		const lines = Buffer.concat(body).toString().split("\n");
		answer(res, [JSON.stringify(lines.map(() => 200))]);
		for (const line of lines) {
			const { id } = JSON.parse(line) as { id: string };
			give(id, [`{"status":"COMPLETED",${line.slice(1)}`]);
		}
		return;
	}
	if (pathname.startsWith("/job-done/")) {
		const id = pathname.split("/").at(-1)!;
		res.end("{}");
		return give(id, [`{"id":"${id}","status":"COMPLETED",`, ...members(body)]);
	}
	const id = String((next += 1));
	clients.set(id, res);
	jobs.push({ id, body });
	hand();
}

// A client that has left in the middle of its body.
const server = createServer((req, res) => void handle(req, res).catch(() => res.destroy()));
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
