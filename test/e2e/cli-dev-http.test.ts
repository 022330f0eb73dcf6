/** `sluice dev --http`: an HTTP server as the worker, restarted on changes (D36). */
import { describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";
import { sluice } from "./command.ts";
import { result, room, session } from "./dev-session.ts";
import { isAlive } from "./site.ts";

const SERVER = (say: string) => `import { createServer } from "node:http";
createServer((request, response) => {
	console.log(\`at work: \${request.method} \${request.url} pid \${process.pid} .\`);
	const names = Object.keys(process.env).filter((name) => /^RUNPOD_(WEBHOOK|AI)|^SLUICE_HTTP/.test(name));
	if (request.url === "/hold") return;
	response.setHeader("content-type", "application/json");
	response.end(JSON.stringify({ say: "${say}", names }));
}).listen(Number(process.env.PORT), "127.0.0.1");
`;

describe("sluice dev --http", () => {
	it.concurrent("D36: runs the server beside an adapter, and restarts both on a change", async (test) => {
		const { cwd, write } = room(test, { "server.mjs": SERVER("one") });
		const port = await freePort();
		const dev = await session(
			test,
			cwd,
			"--http",
			String(port),
			"--endpoint",
			"app",
			"--",
			process.execPath,
			"server.mjs",
		);
		expect(await result(dev, {})).toMatchObject({ status: "COMPLETED", output: { say: "one", names: [] } });
		const [, first] = await dev.says(/worker \| at work: POST \/ pid (\d+) \./);
		write("server.mjs", SERVER("two"));
		await dev.says(/server\.mjs changed: restarting worker/);
		// The server of the earlier one may answer until it is ended.
		await until("the earlier server to end", () => !isAlive(Number(first)));
		expect(await result(dev, {})).toMatchObject({ output: { say: "two" } });
		const [, second] = await dev.says(/worker \| at work: POST \/ pid (\d+) \./);
		expect(await dev.close()).toBe(0);
		expect(isAlive(Number(second))).toBe(false);
	});

	it.concurrent("D36: Ctrl-C in a job ends the server; killed outright it leaves none", async (test) => {
		const { cwd, write } = room(test, { "server.mjs": SERVER("x"), "hold.yaml": "request: { path: /hold }\n" });
		const args = ["--http", "0", "--preset", "./hold.yaml", "--", process.execPath, "server.mjs"];
		for (const signal of ["SIGINT", "SIGKILL"] as const) {
			const dev = await session(test, cwd, ...args);
			const waiting = result(dev, {}).catch(() => {});
			const [, pid] = await dev.says(/at work: POST \/hold pid (\d+) \./);
			expect(await dev.close(signal)).toBe(signal === "SIGINT" ? 0 : null);
			await until("the server to end", () => !isAlive(Number(pid)));
			await waiting;
		}
		write("server.mjs", "process.exit(3);\n");
		const dev = await session(test, cwd, ...args);
		await dev.says(/worker \| ERROR The server ended with exit code 3\./);
		await dev.says(/The worker exited with code 3 before it asked for a job/);
	});

	it.concurrent("D36: says what is wrong with its flags", async (test) => {
		const { cwd } = room(test, {});
		const sentence = async (...args: string[]) => {
			const { code, stderr } = await sluice(test, ["dev", ...args], { cwd });
			expect(code).toBe(2);
			return stderr;
		};
		expect(await sentence("--http", "8000", "server.py")).toMatch(/^--http takes the command of the server: /);
		expect(await sentence("--http", "70000", "--", "x")).toMatch(
			/^--http must be a port from 0 to 65535 .*not '70000'\.$/m,
		);
		expect(await sentence("--http", "80", "--preset", "olama", "--", "x")).toMatch(
			/^There is no preset 'olama'\. Did you/,
		);
	});
});
