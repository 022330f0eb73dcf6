/** An HTTP server without an SDK: the body of a request is the input of a job, the answer its output. */
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

async function answer(request, response) {
	// Jobs are sent once this is answered with 200.
	if (request.url === "/health") return response.end("ready\n");
	const { name = "you" } = await json(request);
	// From 400 on a job fails, with this answer as its error.
	const [status, body] =
		typeof name === "string" ? [200, { greeting: `Hello, ${name}!` }] : [422, { error: "name must be text." }];
	return response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const server = createServer((request, response) => void answer(request, response));
server.listen(Number(process.env.PORT ?? 8000), "127.0.0.1");
