/** Whether a host is reachable, by a daemon here that answers as a test says (D44). */
import { once } from "node:events";
import { createServer } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { DockerHost } from "./host.ts";

it("D44: a daemon that answers pings and nothing else is unreachable, and is checked again", async () => {
	let hangs = true;
	const asked = Promise.withResolvers<void>();
	const server = createServer(({ url }, response) => {
		if (url !== "/info") response.end("[]");
		else if (hangs) asked.resolve();
		else response.end('{"ServerVersion":"29.0"}');
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as { port: number };
	const clock = manualClock();
	const checks: boolean[] = [];
	const back = Promise.withResolvers<void>();
	const host = new DockerHost(
		"rig",
		{ docker: `tcp://127.0.0.1:${port}` },
		{
			clock,
			env: {},
			log: () => {},
			onReturn: async () => {},
			onGpusRead: () => {},
			adapterContent: () => Promise.reject(new Error("not made here")),
			onChecked: ({ isReachable }) => {
				checks.push(isReachable);
				if (isReachable) back.resolve();
			},
		},
	);
	onTestFinished(() => {
		host.close();
		server.closeAllConnections();
		server.close();
	});
	const checked = host.checked();
	await asked.promise;
	await clock.advance(60_000);
	await checked;
	expect(checks).toEqual([false]);
	expect(host.view().fault).toContain("does not answer in time");
	hangs = false;
	await clock.advance(2000);
	await back.promise;
	expect(host.view()).toMatchObject({ state: "reachable", version: "29.0" });
});
