/** A receiver of webhooks on loopback: notes what comes and answers as the test says. */
import { once } from "node:events";
import {
	createServer,
	type IncomingHttpHeaders,
	type RequestListener,
	type Server,
	type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "./receiver-certificate.ts";

/** A request that came. */
export interface Received {
	method: string;
	path: string;
	headers: IncomingHttpHeaders;
	/** As bytes arrived. */
	body: Buffer;
}

/** What is answered: a status, or whatever the test does with the response. */
export type Reply = number | ((response: ServerResponse, socket: Socket) => void);

/** Ends the connection without an answer. */
export const hangUp: Reply = (_response, socket) => socket.destroy();

/** Never answers. */
export const silence: Reply = () => {};

/** A receiver. */
export interface WebhookReceiver {
	/** Such as `http://127.0.0.1:1234`. */
	url: string;
	port: number;
	received: Received[];
	/** How many requests are without an answer, now and at most. */
	open: { now: number; most: number };
	/** Resolves when so many requests have come in all, or on this path. */
	arrived(count: number, path?: string): Promise<Received[]>;
	end(): Promise<void>;
}

/** Starts a receiver. `reply` is asked for each request, whose number on its path counts from 0. */
export async function webhookReceiver({
	reply = () => 200,
	tls = false,
	port = 0,
}: {
	reply?: (request: Received, number: number) => Reply;
	tls?: boolean;
	port?: number;
} = {}): Promise<WebhookReceiver> {
	const received: Received[] = [];
	const open = { now: 0, most: 0 };
	const waiting = new Set<() => void>();

	const listener: RequestListener = (request, response) => {
		open.now += 1;
		open.most = Math.max(open.most, open.now);
		response.on("close", () => (open.now -= 1));
		const pieces: Buffer[] = [];
		request.on("error", () => {});
		request.on("data", (piece: Buffer) => pieces.push(piece));
		request.on("end", () => {
			const one: Received = {
				method: request.method!,
				path: request.url!,
				headers: request.headers,
				body: Buffer.concat(pieces),
			};
			const number = received.filter(({ path }) => path === one.path).length;
			received.push(one);
			const answer = reply(one, number);
			if (typeof answer === "number") response.writeHead(answer).end();
			else answer(response, request.socket);
			for (const look of [...waiting]) look();
		});
	};
	const server: Server = tls
		? createSecureServer({ key: RECEIVER_KEY, cert: RECEIVER_CERTIFICATE }, listener)
		: createServer(listener);
	server.listen(port, "127.0.0.1");
	await once(server, "listening");
	const at = (server.address() as AddressInfo).port;

	return {
		url: `${tls ? "https" : "http"}://127.0.0.1:${at}`,
		port: at,
		received,
		open,
		arrived: (count, path) =>
			new Promise((resolve) => {
				const look = (): void => {
					const found = received.filter((each) => path === undefined || each.path === path);
					if (found.length < count) return;
					waiting.delete(look);
					resolve(found);
				};
				waiting.add(look);
				look();
			}),
		async end() {
			server.closeAllConnections();
			server.close();
			await once(server, "close");
		},
	};
}
