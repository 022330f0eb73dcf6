/**
 * A server that stands before the service or in its place: what its worker is answered, the test
 * says.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, request, SCHEME } from "./transport.ts";

/** A front that listens on loopback. */
export interface SdkFront {
	/** Its address, without a slash at the end. */
	url: string;
	/** Cuts what is open and ends. */
	close(): void;
}

/** Starts one. A request that `answer` leaves alone stays open. */
export async function sdkFront(answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<SdkFront> {
	const server = createServer(answer);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		url: `${SCHEME}://127.0.0.1:${(server.address() as AddressInfo).port}`,
		close() {
			server.closeAllConnections();
			server.close();
		},
	};
}

/**
 * Hands a request on to the service and its answer back; with `instead` the service gets it, but
 * its answer is lost and the worker gets that status.
 */
export function passOn(
	req: IncomingMessage,
	res: ServerResponse,
	{ url, instead }: { url: string; instead?: number | undefined },
): void {
	const onward = request(url + req.url!, { method: req.method!, headers: req.headers }, (answer) => {
		if (instead === undefined) return void answer.pipe(res.writeHead(answer.statusCode!, answer.headers));
		answer.resume().on("end", () => res.writeHead(instead).end());
	});
	res.on("close", () => onward.destroy());
	onward.on("error", () => res.destroy());
	req.pipe(onward);
}
