/**
 * Receives webhooks: checks who sent them, prints the jobs. Needs nothing but Node. WEBHOOK_SECRET
 * is the endpoint's secret, PORT where to listen (9000).
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const { WEBHOOK_SECRET = "", PORT = "9000" } = process.env;
const key = Buffer.from(WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
if (key.length < 24) {
	console.error("Set WEBHOOK_SECRET to the endpoint's secret: whsec_ and base64 of at least 24 bytes.");
	process.exit(2);
}

/** An older signature may be one that somebody recorded, seconds. */
const OLDEST = 300;

/** Whether whoever sent this has the secret (Standard Webhooks). */
function isSigned(headers, body) {
	const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures = "" } = headers;
	if (!(Math.abs(Date.now() / 1000 - Number(time)) <= OLDEST)) return false;
	const expected = createHmac("sha256", key).update(`${id}.${time}.`).update(body).digest();
	return signatures.split(" ").some((signature) => {
		const given = Buffer.from(signature.replace(/^v1,/, ""), "base64");
		return given.length === expected.length && timingSafeEqual(given, expected);
	});
}

/** A webhook may come more than once; its id is then the same. */
const seen = new Set();

async function receive(request, response) {
	const pieces = [];
	for await (const piece of request) pieces.push(piece);
	const body = Buffer.concat(pieces);
	if (!isSigned(request.headers, body)) return response.writeHead(401).end();
	// Only 200 acknowledges, and within 10 s: so answer first, then work.
	response.writeHead(200).end();
	const id = request.headers["webhook-id"];
	if (seen.has(id)) return;
	seen.add(id);
	const { id: job, status, output, error } = JSON.parse(body.toString());
	console.log(`${job} ${status} ${JSON.stringify(output ?? error)?.slice(0, 200) ?? ""}`);
}

// A caller that hangs up in the middle must not end the receiver.
const server = createServer((request, response) => {
	receive(request, response).catch(() => response.destroy());
});
server.listen(Number(PORT), "127.0.0.1", () =>
	console.log(`Receiving webhooks at http://127.0.0.1:${server.address().port}/`),
);
