/** Receives webhooks, and refuses or breaks some at their first attempt (D21). */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { seenOf } from "./api.ts";
import { machineTime } from "./time.ts";
import type { Tracker } from "./tracker.ts";

/** Part of the deliveries whose first attempt is answered 500, and whose connection is cut. */
const [REFUSED, CUT] = [0.05, 0.03];

export interface Receiver {
	url: string;
	end(): Promise<void>;
}

/** Records a delivery; answers its status, 0 for a connection that is cut. */
export function deliveries(
	tracker: Tracker,
	random: () => number,
	now: () => number,
): (q: { delivery: string; body: any; from: number }) => number {
	return ({ delivery, body, from }) => {
		const job = tracker.jobs.get(body.id);
		const chance = job?.deliveries.has(delivery) ? 1 : random();
		const status = chance < REFUSED ? 500 : chance < REFUSED + CUT ? 0 : 200;
		job?.deliveries.add(delivery);
		const op = { op: "webhook", by: "receiver", job: body.id, delivery, status } as const;
		tracker.record({ ...op, seen: seenOf(body)!, result: "ok", from, to: now() });
		return status;
	};
}

export async function receiver(tracker: Tracker, random: () => number): Promise<Receiver> {
	const { now } = machineTime;
	const deliver = deliveries(tracker, random, now);
	const server = createServer((request, response) => {
		const from = now();
		const pieces: Buffer[] = [];
		request.on("error", () => {});
		request.on("data", (piece: Buffer) => pieces.push(piece));
		request.on("end", () => {
			const body = JSON.parse(Buffer.concat(pieces).toString());
			const status = deliver({ delivery: String(request.headers["webhook-id"]), body, from });
			if (status === 0) request.socket.destroy();
			else response.writeHead(status).end();
		});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
		async end() {
			server.closeAllConnections();
			server.close();
			await once(server, "close");
		},
	};
}
