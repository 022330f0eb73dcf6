/**
 * A reverse proxy that puts a service below a path, as docs/guides/console.md describes it: it
 * removes the path and passes `Host` on. Answers that are streams go through as they come.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy on 127.0.0.1. */
export interface PathProxy {
	/** Address of the service behind it, path included, without a slash at its end. */
	readonly url: string;
	/** Paths of requests that have no whole answer yet. */
	open(): string[];
	/** Paths asked for that are not below its own. */
	readonly astray: readonly string[];
	close(): void;
}

/** Before the service at `to`, below `path`, such as `/sluice`. */
export async function pathProxy({ to, path }: { to: string; path: string }): Promise<PathProxy> {
	const { hostname, port } = new URL(to);
	const under = new Set<IncomingMessage>();
	const astray: string[] = [];
	const listener = createServer((req: IncomingMessage, res: ServerResponse) => {
		const { url = "/", method = "GET", headers } = req;
		if (!url.startsWith(`${path}/`)) {
			astray.push(url);
			res.writeHead(404).end();
			return;
		}
		under.add(req);
		const onward = request({ hostname, port, method, path: url.slice(path.length), headers }, (answer) => {
			res.writeHead(answer.statusCode!, answer.headers);
			res.flushHeaders();
			answer.on("error", () => res.destroy());
			answer.pipe(res);
		});
		onward.on("error", () => res.destroy());
		res.on("close", () => {
			under.delete(req);
			onward.destroy();
		});
		req.pipe(onward);
	});
	await once(listener.listen(0, "127.0.0.1"), "listening");
	return {
		url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}${path}`,
		open: () => [...under].map(({ url = "" }) => url.slice(path.length)),
		astray,
		close() {
			listener.close();
			listener.closeAllConnections();
		},
	};
}
