/** An S3 service in memory, with a verifier of signatures of its own, for tests of what workers store. */
import { createHash, createHmac } from "node:crypto";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { httpServer, type Received } from "./http-servers.ts";

interface Stored {
	type: string;
	body: Buffer;
}

/** Objects by path. It refuses other signatures than those of `secret`, and wrong hashes of bodies, with 403. */
export async function bucketServer(secret: string, now: () => number) {
	const objects = new Map<string, Stored>();
	const server = await httpServer((request, response) => {
		const url = new URL(request.url, "http://bucket.test");
		const signature = signatureOf(request, url, secret);
		const given =
			url.searchParams.get("X-Amz-Signature") ?? /Signature=(\w+)/.exec(request.headers.authorization ?? "")?.[1];
		if (signature !== given || isOver(url, now())) return void response.writeHead(403).end();
		if (request.method === "PUT") {
			const hash = createHash("sha256").update(request.body).digest("hex");
			if (hash !== request.headers["x-amz-content-sha256"]) return void response.writeHead(400).end();
			objects.set(url.pathname, { type: String(request.headers["content-type"]), body: request.body });
			return void response.writeHead(200).end();
		}
		const found = objects.get(url.pathname);
		if (!found) return void response.writeHead(404).end();
		response.writeHead(200, { "content-type": found.type }).end(found.body);
	});
	return { port: server.port, objects, [Symbol.asyncDispose]: () => server.close() };
}

function isOver(url: URL, now: number): boolean {
	const [date, seconds] = ["X-Amz-Date", "X-Amz-Expires"].map((name) => url.searchParams.get(name));
	if (date == null) return false;
	const at = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
	return now > at + Number(seconds) * 1000;
}

/** What the signature must be, computed from the request as it arrived. */
function signatureOf({ method, url: raw, headers }: Received, url: URL, secret: string): string {
	const byQuery = url.searchParams.get("X-Amz-Credential");
	const header = headers.authorization ?? "";
	const credential = byQuery ?? /Credential=([^,]+)/.exec(header)?.[1] ?? "";
	const [, day = "", region = "", service = "", end = ""] = credential.split("/");
	const names = (url.searchParams.get("X-Amz-SignedHeaders") ?? /SignedHeaders=([^,]+)/.exec(header)?.[1] ?? "").split(
		";",
	);
	const query = (raw.split("?")[1] ?? "").split("&").filter((each) => each && !each.startsWith("X-Amz-Signature="));
	const canonical = [
		method,
		raw.split("?")[0],
		query.toSorted().join("&"),
		...names.map((name) => `${name}:${String(headers[name]).trim()}`),
		"",
		names.join(";"),
		byQuery ? "UNSIGNED-PAYLOAD" : headers["x-amz-content-sha256"],
	].join("\n");
	const time = url.searchParams.get("X-Amz-Date") ?? String(headers["x-amz-date"]);
	const hash = createHash("sha256").update(canonical).digest("hex");
	let key: string | Buffer = `AWS4${secret}`;
	for (const part of [day, region, service, end]) key = createHmac("sha256", key).update(part).digest();
	return createHmac("sha256", key)
		.update(["AWS4-HMAC-SHA256", time, [day, region, service, end].join("/"), hash].join("\n"))
		.digest("hex");
}

/** Refuses each request when its head has arrived, and ends the connection without reading the rest. */
export async function refusingServer() {
	let bytes = 0;
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket);
		socket.on("error", () => {});
		socket.once("data", (head) => {
			bytes += head.length;
			socket.pause();
			const body = "<Error><Code>AccessDenied</Code></Error>";
			socket.write(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
		});
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		port: (server.address() as AddressInfo).port,
		bytes: () => bytes,
		[Symbol.asyncDispose]: () =>
			new Promise<void>((resolve) => {
				server.close(() => resolve());
				for (const socket of sockets) socket.destroy();
			}),
	};
}
