/** `sluice import runpod` with RunPod's form: what is written, and what is named as without meaning (D36). */
import { MODULES } from "../../index.ts";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { loadEndpoints } from "../../../kernel/config/endpoints.ts";
import { readEndpoint } from "../../../kernel/launchers/endpoint-settings.ts";
import { run } from "../../../cli/framework/run.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-import-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function imported(value: unknown, ...flags: string[]) {
	const file = join(root, "given.json");
	writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
	const written = { stdout: "", stderr: "" };
	const { FORCE_COLOR } = process.env;
	process.env["FORCE_COLOR"] = "0";
	for (const name of ["stdout", "stderr"] as const)
		vi.spyOn(process[name], "write").mockImplementation((text) => {
			written[name] += String(text);
			return true;
		});
	const code = await run(["import", "runpod", file, ...flags]);
	vi.restoreAllMocks();
	if (FORCE_COLOR === undefined) delete process.env["FORCE_COLOR"];
	else process.env["FORCE_COLOR"] = FORCE_COLOR;
	return { code, ...written };
}

const FROM_API = {
	id: "k3v9t2xa",
	name: "captions",
	type: "QUEUE",
	requestUrls: { run: "https://host/v2/k3v9t2xa/run" },
	image: "registry.example/captions:3",
	args: '{"cmd":["python","-u","handler.py"]}',
	cmd: ["python", "-u", "handler.py"],
	entrypoint: [],
	disk: 20,
	ports: [],
	env: { MODEL: "small", TOKEN: "{{ RUNPOD_SECRET_token }}" },
	registry: null,
	gpu: { pools: ["ADA_24"], count: 2, allowedCudaVersions: [], minCudaVersion: "12.4" },
	workers: { min: 1, max: 2, idleTimeout: 30 },
	scaling: { type: "QUEUE_DELAY", queueDelay: 1.5 },
	dataCenterIds: ["EU-RO-1"],
	networkVolumes: ["vol1"],
	timeout: 300_000,
	flashboot: "OFF",
	createdAt: "2026-11-23T20:15:00Z",
};

it("D36: an endpoint of the management API keeps its id, and each setting without meaning is named", async () => {
	const { code, stdout, stderr } = await imported(FROM_API);
	expect(code).toBe(0);
	const { endpoints } = parse(stdout) as { endpoints: Record<string, object> };
	expect(endpoints).toEqual({
		k3v9t2xa: {
			name: "captions",
			workersMin: 1,
			workersMax: 2,
			idleTimeout: "30s",
			executionTimeoutMs: "5m",
			scalerType: "QUEUE_DELAY",
			scalerValue: 1.5,
			launcher: {
				type: "docker",
				image: "registry.example/captions:3",
				pullPolicy: "missing",
				command: ["python", "-u", "handler.py"],
			},
			gpusPerWorker: 2,
			env: { MODEL: "small", TOKEN: "{{ RUNPOD_SECRET_token }}" },
		},
	});
	expect(readEndpoint("k3v9t2xa", endpoints["k3v9t2xa"])).toMatchObject({ ok: true, endpoint: { idleTimeout: 30 } });
	expect(stderr.trimEnd().split("\n")).toEqual([
		"k3v9t2xa: 'disk' has no meaning here.",
		"k3v9t2xa: 'dataCenterIds' has no meaning here.",
		"k3v9t2xa: 'networkVolumes' has no meaning here: mount a folder with launcher.volumes: [/folder:/runpod-volume].",
		"k3v9t2xa: 'gpu.pools' has no meaning here.",
		"k3v9t2xa: 'gpu.minCudaVersion' has no meaning here.",
		"k3v9t2xa: Its workers start once the secret token exists: sluice secrets set token",
	]);
});

it("D36: a list of endpoints, one that is yet to be created, and commands as text", async () => {
	const given = { name: "My Endpoint", image: "a:1", scaling: { type: "REQUEST_COUNT", requestCount: 4 }, timeout: 0 };
	const list = [
		{ ...given, args: "python -u handler.py" },
		{ ...given, name: "b", args: "sh -c 'echo hi'", cpu: [{ id: "cpu5c" }] },
		{ ...given, name: "c", args: '{"entrypoint":["sh"],"cmd":["-c","x"]}' },
	];
	const { stdout, stderr } = await imported({ endpoints: list, pagination: {} });
	expect(parse(stdout)).toMatchObject({
		endpoints: {
			"my-endpoint": {
				scalerType: "REQUEST_COUNT",
				scalerValue: 4,
				launcher: { command: ["python", "-u", "handler.py"] },
			},
			b: { launcher: { type: "docker", image: "a:1" } },
			c: { launcher: { entrypoint: ["sh"], command: ["-c", "x"] } },
		},
	});
	expect(stderr).toContain("b: 'cpu' has no meaning here.");
	expect(stderr).toContain("b: Write 'args' as the list launcher.command: sh -c 'echo hi'");
});

it("D36: text of a foreign template is no variable of who applies the file, and no id vanishes", async () => {
	const texts = { KEY: "${SLUICE_API_KEY}", OTHER: "$${HOME}", SHELL: "x${HOME}" };
	const env: Record<string, unknown> = { ...texts, COUNT: 2, ON: true };
	const one = { ...FROM_API, id: "constructor", env, constructor: "image" };
	const other = { ...FROM_API, id: "__proto__", env: JSON.parse('{"__proto__":"${HOME}"}') as unknown };
	const { stdout, stderr } = await imported({ endpoints: [one, other] });
	expect(stderr).toContain("constructor: 'constructor' has no meaning here.\n");
	const source = {
		path: join(root, "sluice.yaml"),
		env: { SLUICE_API_KEY: "operator", HOME: "/root" },
		modules: MODULES,
	};
	const loaded = loadEndpoints(stdout, source);
	expect(loaded.ok && [...loaded.endpoints].map(([id, settings]) => [id, Object.entries(settings["env"]!)])).toEqual([
		["constructor", Object.entries({ ...texts, COUNT: 2, ON: true })],
		["__proto__", [["__proto__", "${HOME}"]]],
	]);
});

it("D36: --output writes a new file and replaces none", async () => {
	const output = join(root, "sluice.yaml");
	expect(await imported(FROM_API, "-o", output)).toMatchObject({ code: 0, stdout: "" });
	const text = readFileSync(output, "utf8");
	expect(text).toContain("captions");
	expect(await imported(FROM_API, "--output", output)).toMatchObject({
		code: 1,
		stderr: expect.stringContaining("EEXIST"),
	});
	expect(readFileSync(output, "utf8")).toBe(text);
});

it.each<[unknown, RegExp]>([
	["no json", /is not an endpoint of RunPod's management API/],
	[{ title: "x", config: {} }, /endpoints create ID --from FOLDER/],
	[{ endpoints: [] }, /is not an endpoint/],
	[{ ...FROM_API, type: "LOAD_BALANCER" }, /load balancer cannot be imported/],
	[{ ...FROM_API, workers: { min: 0, max: 5000 } }, /k3v9t2xa: workersMax must be a whole number from 0 to 1000/],
])("D36: %j is refused with a sentence, and nothing is written", async (value, says) => {
	const output = join(root, "none.yaml");
	const { code, stdout, stderr } = await imported(value, "-o", output);
	expect(code).toBeGreaterThan(0);
	expect(stdout).toBe("");
	expect(stderr).toMatch(says);
	expect(existsSync(output)).toBe(false);
});
