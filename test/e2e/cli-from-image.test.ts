/**
 * Repositories whose worker is an image: what `sluice dev` and `sluice endpoints create` say of them, `--image`,
 * `--build` and `--preset` (D36).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { docker, IMAGE, makeImage, noDocker, removeAll, titled } from "../support/docker.ts";
import { call, KEY } from "../support/service.ts";
import { until, within } from "../support/until.ts";
import { sluice, SLUICE } from "./command.ts";
import { managed } from "./managed.ts";
import { site } from "./site.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

const HUB = {
	title: "Model server",
	config: {
		runsOn: "GPU",
		gpuIds: "ADA_24",
		presets: [
			{ name: "Small", defaults: { MODEL: "org/small" } },
			{ name: "Big\u001b[2J", defaults: {} },
		],
		env: [
			{ key: "MODEL", input: { name: "Model", type: "huggingface", required: true } },
			{ key: "RUNPOD_INIT_TIMEOUT", value: "900" },
		],
	},
};

function repository(folder: string, files: Readonly<Record<string, unknown>> = {}): void {
	const own = { Dockerfile: "FROM x\nADD src .\nCMD /start.sh\n", "src/start.sh": "", "src/handler.mjs": "" };
	for (const [name, content] of Object.entries({ ...own, ".runpod/hub.json": HUB, ...files })) {
		mkdirSync(dirname(join(folder, name)), { recursive: true });
		writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
	}
}

describe("a repository that needs its image", () => {
	it.concurrent("D36: dev and create name the command that runs its image", async (test) => {
		const { ask, cwd } = await managed(test);
		repository(cwd);
		const sentence = new RegExp(
			"This repository needs its image: Dockerfile starts /start\\.sh\\. [^]*" +
				"sluice endpoints create ID --from \\. --build [^]*--from \\. --image IMAGE [^]*sluice dev src/handler\\.mjs$",
			"m",
		);
		expect(await sluice(test, ["dev", "."], { cwd })).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(sentence),
		});
		const create = await ask("endpoints", "create", "chat", "--from", ".", "--preset", "Small");
		expect(create).toMatchObject({ code: 2, stderr: expect.stringMatching(sentence) });
		repository(cwd, { ".runpod/hub.json": { config: { endpointType: "LB" } } });
		expect(await ask("endpoints", "create", "chat", "--from", ".")).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/load balancing endpoint .*\n$/),
		});
	});

	it.concurrent("D36: --image and --preset; a required variable is named where none can be asked", async (test) => {
		const { ask, service, cwd } = await managed(test);
		repository(cwd);
		const create = ["endpoints", "create", "chat", "--from", ".", "--image", "me/worker:1"];
		const refused = await ask(...create);
		expect(refused.stderr).toMatch(/^Presets of hub\.json, .*: Small, Big\?\[2J\.$/m);
		expect(refused).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^hub\.json requires MODEL and has no default\. Set it: --set env\.MODEL=VALUE$/m),
		});
		const { code, stderr } = await ask(...create, "--preset", "Small", "--set", "launcher.shmSize=4g");
		expect({ code, stderr }).toMatchObject({ code: 0 });
		expect(stderr).toMatch(/^Without effect here: gpuIds ADA_24 /m);
		expect(stderr).toMatch(/--set 'launcher\.volumes=\["models:\/runpod-volume"\]'$/m);
		const { json } = await call(service.url, "/v1/endpoints/chat");
		expect(json).toMatchObject({
			name: "Model server",
			gpusPerWorker: 1,
			initTimeoutMs: 900_000,
			launcher: { type: "docker", image: "me/worker:1", pullPolicy: "missing", shmSize: "4g" },
			env: ["RUNPOD_INIT_TIMEOUT", "MODEL"],
		});
		expect(await ask("endpoints", "create", "b", "--build")).toMatchObject({
			code: 2,
			stderr: expect.stringContaining("--from FOLDER"),
		});
	});

	it.concurrent("D36: --image alone, needs no repository; it stays in another launcher with images", async (test) => {
		const { ask, service } = await managed(test);
		await ask("endpoints", "create", "alone", "--image", "me/other:3", "--set", "workersMax=1");
		const { launcher } = (await call(service.url, "/v1/endpoints/alone")).json;
		expect(launcher).toMatchObject({ type: "docker", image: "me/other:3" });
		await ask("endpoints", "create", "on-pods", "--image", "me/other:3", "--set", "launcher.type=kubernetes");
		expect((await call(service.url, "/v1/endpoints/on-pods")).json.launcher).toMatchObject({
			type: "kubernetes",
			image: "me/other:3",
		});
		expect(await ask("endpoints", "create", "own", "--image", "a", "--set", "launcher.type=external")).toMatchObject({
			code: 2,
			stderr: expect.stringContaining("the launcher external run no image"),
		});
	});

	it.concurrent("D36: a required variable is asked for in a terminal", async (test) => {
		const { service, cwd } = await managed(test);
		repository(cwd);
		const typist = "import pty, sys\npty.spawn(sys.argv[1:])\n";
		const command = [process.execPath, SLUICE, "endpoints", "create", "chat", "--from", ".", "--image", "me/worker:1"];
		const child = spawn("python3", ["-c", typist, ...command], {
			cwd,
			env: { ...process.env, SLUICE_URL: service.url, SLUICE_API_KEY: KEY, XDG_CONFIG_HOME: cwd },
			stdio: ["pipe", "pipe", "inherit"],
		});
		test.onTestFinished(() => void child.kill("SIGKILL"));
		let said = "";
		child.stdout.on("data", (piece: Buffer) => (said += piece.toString()));
		const ended = once(child, "close");
		await until(`the question in ${said}`, () => said.includes("Model (MODEL), a model on Hugging Face"));
		child.stdin.write("org/typed\n");
		await until(`its end in ${said}`, () => said.includes("Created endpoint 'chat'"));
		await within("the command to end", ended);
		expect((await call(service.url, "/v1/endpoints/chat")).json.env).toContain("MODEL");
	});
});

/** `--build` with a program `docker` that runs this script; its arguments and two variables are in the file `calls`. */
async function builds(test: TestContext, script: string) {
	const { place, service, cwd, ask } = await managed(test);
	const calls = join(cwd, "calls");
	const line = `echo "$@ $DOCKER_HOST $SLUICE_API_KEY" >> ${calls}`;
	mkdirSync(join(cwd, "bin"));
	writeFileSync(join(cwd, "bin", "docker"), `#!/bin/sh\n${line}\n${script}\n`, { mode: 0o755 });
	repository(place.folder.path, { ".runpod/hub.json": {} });
	const env = { SLUICE_URL: service.url, SLUICE_API_KEY: KEY, DOCKER_HOST: "tcp://far:1" };
	return {
		service,
		ask,
		create: (id: string, flags: readonly string[] = [], path = `${join(cwd, "bin")}:${process.env["PATH"]}`) =>
			sluice(test, ["endpoints", "create", id, "--from", ".", "--build", ...flags], {
				cwd,
				env: { ...env, PATH: path },
			}),
		calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trimEnd().split("\n") : []),
		build: (image: string) => `build -t ${image} -f ${join(cwd, "Dockerfile")} ${cwd} tcp://far:1 `.trimEnd(),
	};
}

describe("--build", () => {
	it.concurrent("D36: runs docker build, whose output is not that of the command; ids share no image", async (test) => {
		const { create, calls, build, service } = await builds(test, "echo a step; echo another >&2");
		const { code, stdout, stderr } = await create("a-b", ["--json"]);
		expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/^a step\nanother$/m) });
		expect(JSON.parse(stdout)).toMatchObject({ launcher: { type: "docker", image: "sluice/a-b:latest" } });
		expect(calls().map((line) => line.trimEnd())).toEqual([build("sluice/a-b:latest")]);
		for (const id of ["A-b", "a_b"]) expect(await create(id)).toMatchObject({ code: 0 });
		const names = calls().map((line) => line.split(" ")[2]);
		expect(new Set(names).size).toBe(3);
		expect(names[1]).toMatch(/^sluice\/[0-9a-f]{12}:latest$/);
		await create("on-pods", ["--set", "launcher.type=kubernetes"]);
		const { launcher } = (await call(service.url, "/v1/endpoints/on-pods")).json;
		expect(launcher).toMatchObject({ type: "kubernetes", image: "sluice/on-pods:latest" });
	});

	it.concurrent("D36: builds nothing for an id that is taken or bad, and for bad settings", async (test) => {
		const { create, calls, ask } = await builds(test, "exit 0");
		await ask("endpoints", "create", "taken", "--set", "launcher.type=external");
		expect(await create("taken")).toMatchObject({ code: 1, stderr: expect.stringContaining("There is an endpoint") });
		expect(await create("no id")).toMatchObject({ code: 2, stderr: expect.stringMatching(/^id /m) });
		const faulty = await create("fine", ["--set", "workersMax=-1"]);
		expect(faulty).toMatchObject({ code: 2, stderr: expect.stringMatching(/^workersMax /m) });
		expect(await create("fine", ["--set", "launcher.type=external"])).toMatchObject({ code: 2 });
		expect(calls()).toEqual([]);
	});

	it.concurrent("D36: names a build that fails, and the command docker where it is missing", async (test) => {
		const { create, ask } = await builds(test, "echo no such package >&2; exit 3");
		const failed = /^no such package\nThe image sluice\/a:latest was not built: docker build ended: exit code 3\.$/m;
		expect(await create("a")).toMatchObject({ code: 1, stderr: expect.stringMatching(failed) });
		const missing = /--build runs the command docker, which is not installed .* --image IMAGE\.$/m;
		expect(await create("a", [], "/nowhere")).toMatchObject({ code: 1, stderr: expect.stringMatching(missing) });
		expect(await ask("endpoints", "get", "a")).toMatchObject({ code: 1 });
	});
});

const REPORTER = `import { readFileSync } from "node:fs";
import { start } from "${ROOT}/dist/worker/index.js";
const limit = (name) => new RegExp(name + " +(\\\\S+)").exec(readFileSync("/proc/self/limits", "utf8"))[1];
await start({ handler: async () => ({
	shm: /\\/dev\\/shm .*size=(\\d+)k/.exec(readFileSync("/proc/mounts", "utf8"))[1],
	limits: [limit("Max locked memory"), limit("Max stack size")],
	built: readFileSync("/app/built", "utf8"),
	env: [process.env.RUNPOD_MEM_GB, process.env.RUNPOD_CPU_COUNT, process.env.RUNPOD_POD_HOSTNAME],
}) });
`;

/** Whether the daemon has the right to. */
async function raisesLimits(): Promise<boolean> {
	const run = docker("run", "--rm", "--ulimit", "memlock=-1", "--network", "host", IMAGE, "/bin/sh", "-c", "true");
	return await run.then(
		() => true,
		() => false,
	);
}

describe.skipIf(noDocker !== undefined)(titled("an image that is built"), () => {
	beforeAll(() => makeImage(), 60_000);

	it("D25, D36: --build builds, and its workers run with what PyTorch needs", {
		timeout: 120_000,
	}, async (test) => {
		const { ask, service } = await managed(test);
		const cwd = site(test).folder.path;
		const mark = randomBytes(4).toString("hex");
		test.onTestFinished(async () => {
			await service.end();
			await removeAll("sluice.endpoint=built");
			await docker("image", "rm", "--force", "sluice/built:latest");
		});
		repository(cwd, {
			Dockerfile: `ARG BASE=${IMAGE}
FROM \${BASE}
COPY src /app
CMD ["/bin/sh", "/app/start.sh"]
`,
			"src/start.sh": "exec node /app/report.mjs\n",
			"src/report.mjs": REPORTER,
			"src/built": mark,
			".runpod/hub.json": { title: "Built", config: { runsOn: "CPU" } },
		});
		const create = ["endpoints", "create", "built", "--from", cwd, "--build"];
		const settings = { memory: "2g", cpus: 2, volumes: `["${ROOT}:${ROOT}:ro"]` };
		const flags = Object.entries(settings).flatMap(([name, value]) => ["--set", `launcher.${name}=${value}`]);
		const { code, stderr } = await ask(...create, ...flags);
		expect({ code, stderr }).toMatchObject({ code: 0 });
		expect(stderr).toMatch(/COPY src \/app$/m);
		const { json } = await call(service.url, "/v2/built/runsync", { body: { input: { n: 1 } } });
		expect(json).toMatchObject({
			status: "COMPLETED",
			output: {
				shm: String(1024 ** 2),
				...((await raisesLimits()) && { limits: ["unlimited", String(64 * 1024 ** 2)] }),
				built: mark,
				env: ["2", "2", expect.stringMatching(/^built-/)],
			},
		});
	});
});
