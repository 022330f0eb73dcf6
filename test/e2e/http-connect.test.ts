/** `sluice connect`: a server that runs already becomes a worker of an endpoint (D36). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { call, KEY } from "../support/service.ts";
import { until, within } from "../support/until.ts";
import { httpServer, type Received, type TestServer } from "../support/worker-kit/http-servers.ts";
import { type Running, SLUICE, sluice, start } from "./command.ts";
import { ended, run, site } from "./site.ts";

interface Scene {
	cwd: string;
	/** Address of the service. */
	url: string;
	server: TestServer;
	/** Address of the server. */
	at: string;
	/** Answers the requests of jobs that the server holds back. */
	answer(): void;
	/** Starts `sluice connect` with the admin key. */
	connect(args: readonly string[], env?: Record<string, string>): Running;
	/** Runs it to its end. */
	refused(args: readonly string[], env?: Record<string, string | undefined>): ReturnType<typeof sluice>;
}

/** A service, and a server that is like Ollama. `input.hold`: it answers when the test says so. */
async function scene(test: TestContext, settings: Record<string, unknown> = {}): Promise<Scene> {
	const place = site(test);
	const endpoints = Object.fromEntries(Object.entries(settings).map(([id, http]) => [id, { http }]));
	const { url } = await place.serve({ endpoints });
	const held: (() => void)[] = [];
	const server = await httpServer(({ url: path, body }: Received, response) => {
		const json = (value: unknown, status = 200): void =>
			void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
		if (path === "/pre/api/version") return json({ version: "0.9.1" });
		const input = JSON.parse(body.toString()) as { hold?: boolean; bad?: boolean; cut?: boolean };
		if (input.bad) return json({ detail: "no such\nmodel" }, 422);
		if (input.cut) return response.destroy();
		if (input.hold) return void held.push(() => json({ held: true }));
		return json({ path, input });
	});
	test.onTestFinished(() => server.close());
	const cwd = place.folder.path;
	const env = { SLUICE_URL: url, SLUICE_API_KEY: KEY };
	return {
		cwd,
		url,
		server,
		at: `http://127.0.0.1:${server.port}/pre/`,
		answer: () => {
			for (const each of held.splice(0)) each();
		},
		connect: (args, others) => start(test, ["connect", ...args], { cwd, env: { ...env, ...others } }),
		refused: (args, others) => sluice(test, ["connect", ...args], { cwd, env: { ...env, ...others } }),
	};
}

const says = (running: Running, what: RegExp) =>
	until(`${what} in:\n${running.stdout()}${running.stderr()}`, () => what.exec(running.stdout()));

async function newKey({ url }: Pick<Scene, "url">, scope: string): Promise<string> {
	const { json } = await call(url, "/v1/keys", { body: { name: "k", scopes: [scope] } });
	return json.key as string;
}

describe("sluice connect", () => {
	it.concurrent("D36: creates the endpoint, says what it found, and shows each job", async (test) => {
		const { url, at, connect } = await scene(test);
		const running = connect(["ollama", at, "--endpoint", "pictures", "--yes"]);
		await says(running, /^\S+ Connecting http:\S+\/pre\/ to endpoint 'pictures' as worker pictures-[0-9a-f]{12}\./m);
		const id = await run({ url }, "pictures", { n: 5 });
		expect(await ended({ url }, "pictures", id)).toMatchObject({
			status: "COMPLETED",
			output: { path: "/pre/api/generate", input: { n: 5 } },
		});
		await says(running, new RegExp(`^\\S+ ${id}  \\d+ ms  succeeded$`, "m"));
		await says(running, /^\S+ Ollama 0\.9\.1 at http:\S+\/pre\/, ready$/m);
		const bad = await run({ url }, "pictures", { bad: true } as object);
		expect(await ended({ url }, "pictures", bad)).toMatchObject({ status: "FAILED" });
		await says(
			running,
			new RegExp(`^\\S+ ${bad}  \\d+ ms  failed: HTTP 422: \\{"detail":"no such\\\\nmodel"\\}$`, "m"),
		);
		const cut = await run({ url }, "pictures", { cut: true } as object);
		await says(running, new RegExp(`^\\S+ ${cut}  \\d+ ms  returned: `, "m"));
		running.end("SIGINT");
		expect(await within("connect to end", running.ended)).toMatchObject({ code: 0, stderr: "" });
	});

	it.concurrent("D36: Ctrl-C waits for the jobs, a second one stops them", async (test) => {
		const { url, at, connect, server, answer } = await scene(test, { pictures: { preset: "ollama" } });
		const first = connect(["ollama", at, "--endpoint", "pictures"]);
		const id = await run({ url }, "pictures", { hold: true } as object);
		await until("the job to reach the server", () => server.received.some((each) => each.url === "/pre/api/generate"));
		first.end("SIGINT");
		await says(first, /taking no more jobs; finishing 1 running jobs\.$/m);
		answer();
		expect(await ended({ url }, "pictures", id)).toMatchObject({ status: "COMPLETED", output: { held: true } });
		expect(await within("connect to end", first.ended)).toMatchObject({ code: 0, stderr: "" });
		expect(first.stdout()).toMatch(new RegExp(`${id}  \\d+ ms  succeeded\n$`));

		const second = connect(["ollama", at, "--endpoint", "pictures"]);
		const other = await run({ url }, "pictures", { hold: true } as object);
		await until(
			"the job to reach the server",
			() => server.received.filter((each) => each.url === "/pre/api/generate")[1],
		);
		second.end("SIGINT");
		await says(second, /finishing 1 running jobs\.$/m);
		second.end("SIGINT");
		expect(await within("connect to end", second.ended)).toMatchObject({ code: 130 });
		expect(second.stdout()).toMatch(new RegExp(`${other}  \\d+ ms  stopped$`, "m"));
	});

	it.concurrent("D36: --concurrency is the number of jobs at a time", async (test) => {
		const { url, at, connect, server, answer } = await scene(test, { pictures: "ollama" });
		connect(["ollama", at, "--endpoint", "pictures", "--concurrency", "2"]);
		const ids = [];
		for (let n = 0; n < 2; n += 1) ids.push(await run({ url }, "pictures", { hold: true } as object));
		await until("both jobs", () => server.received.filter((each) => each.url === "/pre/api/generate").length === 2);
		answer();
		for (const id of ids) expect(await ended({ url }, "pictures", id)).toMatchObject({ status: "COMPLETED" });
	});

	it.concurrent("D36: a file's mapping; its variables reach the server, not the service", async (test) => {
		const { url, at, cwd, refused, connect, server } = await scene(test);
		const mapping = { request: { path: "/run", headers: { authorization: "Bearer {env.TOKEN}" } } };
		writeFileSync(join(cwd, "mapping.yaml"), JSON.stringify(mapping));
		const running = connect(["mapping.yaml", at, "--endpoint", "own", "--yes"], { TOKEN: "s3cret-of-the-server" });
		const [, worker] = await says(running, /as worker (own-[0-9a-f]{12})/);
		const id = await run({ url }, "own", { n: 1 });
		await ended({ url }, "own", id);
		expect(server.received.at(-1)!.headers.authorization).toBe("Bearer s3cret-of-the-server");
		const seen = [
			await call(url, "/v1/endpoints/own"),
			await call(url, `/v1/endpoints/own/jobs/${id}`),
			await call(url, "/v1/endpoints/own/http"),
		].map(({ text }) => text);
		expect(seen.join("")).toContain(worker);
		expect(seen.join("") + running.stdout()).not.toContain("s3cret");
		writeFileSync(join(cwd, "other.yaml"), JSON.stringify({ request: { path: "/other" } }));
		expect(await refused(["./other.yaml", at, "--endpoint", "own"])).toMatchObject({
			code: 1,
			stderr:
				"Endpoint 'own' has another mapping than ./other.yaml. Choose another endpoint, or see its setting http: " +
				"sluice endpoints get own\n",
		});
	});

	it.concurrent("D36: needs the admin right to create and for a token, or the variables of an admin", async (test) => {
		const made = await scene(test, { pictures: "ollama" });
		const { at, refused, url } = made;
		const read = { SLUICE_API_KEY: await newKey(made, "read") };
		expect(await refused(["ollama", at, "--endpoint", "absent", "--yes"], read)).toEqual({
			code: 1,
			stdout: "",
			stderr:
				"There is no endpoint 'absent', and creating it needs a key with the scope admin. " +
				"An admin runs: sluice endpoints create absent --http ollama\n",
		});
		expect((await call(url, "/v1/endpoints/absent")).status).toBe(404);
		expect(await refused(["ollama", at, "--endpoint", "pictures"], read)).toEqual({
			code: 1,
			stdout: "",
			stderr:
				"The token of a worker of endpoint 'pictures' is made with a key that has the scope admin. An admin runs: " +
				"sluice worker-env pictures --format shell\nRun what it prints in this shell, then connect without a key.\n",
		});

		const path = `/v1/endpoints/pictures/worker-env?url=${encodeURIComponent(url)}`;
		const answer = await call(url, path, { method: "POST" });
		const variables = answer.json.env as Record<string, string>;
		const env = { ...variables, SLUICE_URL: "http://127.0.0.1:1" };
		const running = start(test, ["connect", "ollama", at, "--endpoint", "pictures"], { cwd: made.cwd, env });
		await says(running, new RegExp(`as worker ${variables["RUNPOD_POD_ID"]}\\.`));
		const id = await run({ url }, "pictures", { n: 7 });
		expect(await ended({ url }, "pictures", id)).toMatchObject({ workerId: variables["RUNPOD_POD_ID"] });
		expect(await refused(["ollama", at, "--endpoint", "others"], variables)).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^RUNPOD_WEBHOOK_GET_JOB is not of endpoint 'others'\. /),
		});
	});

	it.concurrent("D36: asks at a terminal before it creates the endpoint; Enter means yes", async (test) => {
		const { url, at, cwd } = await scene(test);
		const typist = "import pty, sys\npty.spawn(sys.argv[1:])\n";
		const ask = async (answer: string) => {
			const args = [SLUICE, "connect", "ollama", at, "--endpoint", "pictures"];
			const child = spawn("python3", ["-c", typist, process.execPath, ...args], {
				cwd,
				env: { ...process.env, SLUICE_URL: url, SLUICE_API_KEY: KEY, XDG_CONFIG_HOME: cwd },
				stdio: ["pipe", "pipe", "inherit"],
			});
			test.onTestFinished(() => void child.kill("SIGKILL"));
			let said = "";
			child.stdout.on("data", (piece: Buffer) => (said += piece.toString()));
			await until("the question", () => said.includes("Create endpoint 'pictures' with the preset ollama? [Y/n] "));
			child.stdin.write(answer);
			return { child, says: (what: string) => until(`${what} in ${said}`, () => said.includes(what)) };
		};
		await (await ask("n\n")).says("Aborted. Nothing was changed.");
		expect((await call(url, "/v1/endpoints/pictures")).status).toBe(404);
		const { child, says: terminal } = await ask("\n");
		await terminal("to endpoint 'pictures' as worker");
		await terminal("Ollama 0.9.1 at ");
		expect((await call(url, "/v1/endpoints/pictures")).status).toBe(200);
		const closed = once(child, "close");
		child.stdin.write("\u0003");
		await within("connect to end", closed);
	});

	it.concurrent("D36: says what is wrong before anything is created", async (test) => {
		const { at, refused, url } = await scene(test, { docs: { preset: "docling" }, plain: undefined });
		const sentence = async (code: number, ...args: string[]) => {
			const { stderr, ...rest } = await refused(args);
			expect(rest).toEqual({ code, stdout: "" });
			return stderr;
		};
		expect(await sentence(2, "ollama", at, "--endpoint", "new")).toBe(
			"Create endpoint 'new' with the preset ollama? Pass --yes to confirm in non-interactive mode.\n",
		);
		expect(await sentence(2, "ollama", at)).toMatch(
			/^Missing option --endpoint\. Usage: sluice connect PRESET\|FILE URL/,
		);
		expect(await sentence(2, "olama", at, "--endpoint", "new", "--yes")).toMatch(
			/^There is no preset 'olama'\. Did you mean 'ollama'\? Presets: /,
		);
		expect(await sentence(2, "ollama", "127.0.0.1:8188", "--endpoint", "new", "--yes")).toMatch(
			/^http\.url must be an http or https URL, such as /,
		);
		expect(await sentence(2, "ollama", at, "--endpoint", "new", "--yes", "--concurrency", "0")).toBe(
			"--concurrency must be a whole number from 1 to 10000, not '0'.\n",
		);
		expect(await sentence(1, "ollama", at, "--endpoint", "docs")).toMatch(
			/^Endpoint 'docs' has the preset docling, not ollama\. .*sluice endpoints get docs\n$/,
		);
		expect(await sentence(1, "ollama", at, "--endpoint", "plain")).toMatch(
			/^Endpoint 'plain' has no HTTP servers as workers: .*sluice endpoints update plain --set http=PRESET\n$/,
		);
		expect((await call(url, "/v1/endpoints/new")).status).toBe(404);
	});
});
