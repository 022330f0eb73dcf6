/**
 * A server that knows nothing of jobs: `POST /echo` answers its body, and `POST /v1/chat/completions` streams what
 * `stream-chunks.ts` makes. Prints its port.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { events, type StreamInput } from "../stream-chunks.ts";

async function received(request: IncomingMessage): Promise<Buffer> {
	const pieces: Buffer[] = [];
	for await (const piece of request) pieces.push(piece as Buffer);
	return Buffer.concat(pieces);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
	const body = await received(request);
	if (request.url !== "/v1/chat/completions") {
		response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
		return;
	}
	response.writeHead(200, { "content-type": "text/event-stream" });
	const input = JSON.parse(body.toString()) as Partial<StreamInput>;
	// The first job of a worker, which shows that it is there, asks for none.
	for await (const event of events({ chunks: input.chunks ?? 0, everyMs: input.everyMs ?? 0 }))
		if (!response.write(event)) await once(response, "drain");
	response.end("data: [DONE]\n\n");
}

// As fast as the loopback is: not Node's 5 s after which idle connections end, and clients meet a reset.
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => void answer(request, response));
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
