/** A name server on loopback for A and AAAA queries, whose answers a test decides. */
import { createSocket } from "node:dgram";
import { once } from "node:events";

/** Addresses; none: the name does not exist. `silence`: no answer at all. */
export type DnsAnswer = readonly string[] | "silence" | "failure";

export interface DnsServer {
	/** Such as `127.0.0.1:1234`. */
	address: string;
	/** Names in the order in which they were queried, A and AAAA each. */
	queried: string[];
	/** Resolves when so many queries have arrived. */
	arrived(count: number): Promise<void>;
	end(): Promise<void>;
}

const A = 1;
const HEADER_BYTES = 12;

export async function dnsServer(
	answer: (name: string, family: 4 | 6) => DnsAnswer,
	{ host = "127.0.0.1", port = 0 } = {},
): Promise<DnsServer> {
	const socket = createSocket("udp4");
	const queried: string[] = [];
	const waiting = new Set<() => void>();
	socket.on("message", (query, from) => {
		const { name, end } = nameIn(query);
		const family = query.readUInt16BE(end) === A ? 4 : 6;
		queried.push(name);
		const found = answer(name, family);
		if (found !== "silence") socket.send(response(query, end + 4, found, family), from.port, from.address);
		for (const check of [...waiting]) check();
	});
	socket.bind(port, host);
	await once(socket, "listening");
	return {
		address: `${host}:${socket.address().port}`,
		queried,
		arrived: (count) =>
			new Promise((resolve) => {
				const check = (): void => {
					if (queried.length < count) return;
					waiting.delete(check);
					resolve();
				};
				waiting.add(check);
				check();
			}),
		end: () => new Promise((resolve) => socket.close(resolve)),
	};
}

/** The queried name, and where its type is. */
function nameIn(query: Buffer): { name: string; end: number } {
	const labels: string[] = [];
	let at = HEADER_BYTES;
	for (let length; (length = query[at]!) > 0; at += length + 1)
		labels.push(query.toString("latin1", at + 1, at + 1 + length));
	return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

function response(query: Buffer, questionEnd: number, found: readonly string[] | "failure", family: 4 | 6): Buffer {
	const addresses = found === "failure" ? [] : found.map(bytesOf);
	const fitting = addresses.filter(({ length }) => length === (family === 4 ? 4 : 16));
	const header = Buffer.from(query.subarray(0, HEADER_BYTES));
	// Response, recursion desired and available; SERVFAIL 2, NXDOMAIN 3.
	const code = found === "failure" ? 2 : found.length === 0 ? 3 : 0;
	header.writeUInt16BE(0x8180 | code, 2);
	header.writeUInt16BE(fitting.length, 6);
	header.writeUInt32BE(0, 8);
	const records = fitting.map((bytes) => {
		// A pointer to the question's name; class IN, ttl 0.
		const record = Buffer.from([0xc0, 0x0c, 0, family === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, 0]);
		record[11] = bytes.length;
		return Buffer.concat([record, bytes]);
	});
	return Buffer.concat([header, query.subarray(HEADER_BYTES, questionEnd), ...records]);
}

/** Of an address in full notation. */
function bytesOf(address: string): Buffer {
	if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
	return Buffer.from(
		address
			.split(":")
			.map((group) => group.padStart(4, "0"))
			.join(""),
		"hex",
	);
}
