/** The yardstick: a bare `node:http` server that answers what it was sent. Prints its port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((req, res) => {
	const pieces: Buffer[] = [];
	req.on("data", (piece: Buffer) => pieces.push(piece));
	req.on("end", () => {
		const body = Buffer.concat(pieces);
		res.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length });
		res.end(body);
	});
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
