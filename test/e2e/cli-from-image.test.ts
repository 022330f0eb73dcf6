/**
 * Repositories whose worker is an image: what `sluice dev` and `sluice endpoints create` say of them, `--image`,
 * `--build` and `--preset` (D36).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
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
		presets: [{ name: "Small", defaults: { MODEL: "org/small" } }],
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
			"This repository needs its image: Dockerfile starts /start\\.sh, a shell script of the image\\. [^]*" +
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
		expect(await ask(...create)).toMatchObject({
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

	it.concurrent("D36: the image that Compose names is used; alone, --image needs no repository", async (test) => {
		const { ask, service, cwd } = await managed(test);
		repository(cwd, { "compose.yaml": "services: { worker: { image: 'me/published:2' } }" });
		const { stderr } = await ask("endpoints", "create", "named", "--from", ".", "--set", "env.MODEL=a");
		expect(stderr).toMatch(/so workers are containers of me\/published:2, which compose\.yaml names\.$/m);
		await ask("endpoints", "create", "alone", "--image", "me/other:3", "--set", "workersMax=1");
		for (const [id, image] of Object.entries({ named: "me/published:2", alone: "me/other:3" }))
			expect((await call(service.url, `/v1/endpoints/${id}`)).json.launcher).toMatchObject({ type: "docker", image });
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

	it("D25, D36: --build builds with progress, and its workers run with what PyTorch needs", {
		timeout: 120_000,
	}, async (test) => {
		const { ask, service } = await managed(test);
		const cwd = site(test).folder.path;
		// Another step than those that the daemon has kept.
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
RUN --mount=type=cache,target=/cache echo ${mark} && echo yes > /app/built
CMD ["/bin/sh", "/app/start.sh"]
`,
			"src/start.sh": "exec node /app/report.mjs\n",
			"src/report.mjs": REPORTER,
			".runpod/hub.json": { title: "Built", config: { runsOn: "CPU" } },
		});
		const create = ["endpoints", "create", "built", "--from", cwd, "--build"];
		const settings = { memory: "2g", cpus: 2, volumes: `["${ROOT}:${ROOT}:ro"]` };
		const flags = Object.entries(settings).flatMap(([name, value]) => ["--set", `launcher.${name}=${value}`]);
		const { code, stderr } = await ask(...create, ...flags);
		expect({ code, stderr }).toMatchObject({ code: 0 });
		expect(stderr).toMatch(/^Building sluice\/built:latest from .*Dockerfile\.$/m);
		expect(stderr).toMatch(/^\[.*\] RUN .*echo yes > \/app\/built$/m);
		const { json } = await call(service.url, "/v2/built/runsync", { body: { input: { n: 1 } } });
		expect(json).toMatchObject({
			status: "COMPLETED",
			output: {
				shm: String(1024 ** 2),
				...((await raisesLimits()) && { limits: ["unlimited", String(64 * 1024 ** 2)] }),
				built: "yes\n",
				env: ["2", "2", expect.stringMatching(/^built-/)],
			},
		});
		expect(await ask(...create)).toMatchObject({ code: 1, stderr: expect.stringContaining("There is an endpoint") });
	});

	it("D36: a build that fails has the last output of its step", { timeout: 60_000 }, async (test) => {
		const { ask, cwd } = await managed(test);
		const mark = randomBytes(4).toString("hex");
		const dockerfile = `FROM ${IMAGE}\nRUN echo no such package ${mark}; exit 3\nCMD ["/a.sh"]\n`;
		repository(cwd, { Dockerfile: dockerfile, ".runpod/hub.json": {} });
		const { code, stderr } = await ask("endpoints", "create", "failing", "--from", ".", "--build");
		expect(code).toBe(1);
		expect(stderr).toMatch(/^no such package \w+\nThe image sluice\/failing:latest was not built: .*exit code: 3\.$/m);
	});
});
