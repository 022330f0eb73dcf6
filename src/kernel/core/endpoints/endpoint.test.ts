/** Settings of an endpoint: defaults, every bound on both sides, all faults at once. */
import { describe, expect, it } from "vitest";
import { endpoint, fields } from "../../../../test/support/endpoint-settings.ts";
import { mergeSettings, queueBound, retentionOf } from "./endpoint.ts";
import { LIMITED_OPERATIONS, limitsOf } from "./limits.ts";
import { ENDPOINT_SCHEMA, readEndpoint } from "../../launchers/endpoint-settings.ts";

describe("readEndpoint", () => {
	it("D27, D9, D16, D18: the defaults", () => {
		expect(endpoint()).toEqual({
			id: "e",
			name: "e",
			workersMin: 0,
			workersMax: 3,
			idleTimeout: 5,
			executionTimeoutMs: 600_000,
			scalerType: "QUEUE_DELAY",
			scalerValue: 4,
			launcher: { type: "external" },
			env: {},
			limits: {},
			retention: { run: 1_800_000, runsync: 60_000, records: 604_800_000 },
			leaseMs: 20_000,
			stopGraceMs: 5_000,
			initTimeoutMs: 600_000,
			gpusPerWorker: 0,
			gpuMemoryEnforce: false,
			priority: "normal",
			passRequestId: false,
			webhooks: { schedule: "short", input: true },
			release: { maxSurge: 1, failAfter: 3 },
		});
	});

	it.each([
		["workersMax", 0, 1000],
		["idleTimeout", 1, 3600],
		["executionTimeoutMs", 5001, Number.MAX_SAFE_INTEGER],
		["leaseMs", 2000, 600_000],
		["stopGraceMs", 0, 600_000],
		["initTimeoutMs", 1000, 86_400_000],
		["gpusPerWorker", 0, 64],
	] as const)("D27, D16: %s is a whole number from %d to %d", (key, low, high) => {
		expect(endpoint({ [key]: low })[key]).toBe(low);
		expect(endpoint({ [key]: high })[key]).toBe(high);
		for (const value of [low - 1, high + 1, low + 0.5, String(low), true, [], NaN])
			expect(fields({ [key]: value }), String(value)).toEqual([key]);
	});

	it("D27: workersMin lies within 0 and workersMax", () => {
		expect(endpoint({ workersMin: 3 }).workersMin).toBe(3);
		expect(endpoint({ workersMin: 1000, workersMax: 1000 }).workersMin).toBe(1000);
		expect(fields({ workersMin: 4 })).toEqual(["workersMin"]);
		expect(fields({ workersMin: -1 })).toEqual(["workersMin"]);
		expect(fields({ workersMax: { toString: null } })).toEqual(["workersMax"]);
		expect(fields({ workersMin: 1001, workersMax: 1000 })).toEqual(["workersMin"]);
		expect(fields({ workersMin: 5, workersMax: 2, idleTimeout: 0 })).toEqual(["idleTimeout", "workersMin"]);
	});

	it("D35: an id has 1 to 64 letters, digits, _ and -", () => {
		for (const id of ["a", "A_b-9", "x".repeat(64)]) expect(fields({}, id)).toEqual([]);
		for (const id of ["", "x".repeat(65), "a/b", "a b", "é", "a.b", "a\n"]) expect(fields({}, id), id).toEqual(["id"]);
	});

	it("D35: settings must be a mapping, and unknown ones are named", () => {
		for (const raw of [null, 7, "x", []]) expect(fields(raw)).toEqual([""]);
		expect(fields({ workerMax: 3, foo: 1 })).toEqual(["workerMax", "foo"]);
	});

	it("D27: name and scaler", () => {
		expect(endpoint({ name: "Thumbnails", scalerType: "REQUEST_COUNT" })).toMatchObject({
			name: "Thumbnails",
			scalerType: "REQUEST_COUNT",
		});
		expect(fields({ name: 7 })).toEqual(["name"]);
		expect(fields({ name: "x".repeat(192) })).toEqual(["name"]);
		expect(fields({ scalerType: "queue_delay" })).toEqual(["scalerType"]);
	});

	it("D27: scalerValue is a number of seconds from 0.5, or a whole number of jobs from 1", () => {
		for (const scalerValue of [0.5, 1.5, 4, 1_000_000]) expect(endpoint({ scalerValue }).scalerValue).toBe(scalerValue);
		for (const value of [0, 0.49, 1_000_001, "1", true, [], NaN])
			expect(fields({ scalerValue: value }), String(value)).toEqual(["scalerValue"]);
		const byCount = (scalerValue: number): string[] => fields({ scalerType: "REQUEST_COUNT", scalerValue });
		expect([1, 4, 1_000_000].flatMap(byCount)).toEqual([]);
		for (const value of [0.5, 1.5]) expect(byCount(value)).toEqual(["scalerValue"]);
	});

	it("D25: launchers", () => {
		expect(endpoint({ launcher: { type: "process", command: ["node", "w.js"], cwd: "/x" } }).launcher).toEqual({
			type: "process",
			command: ["node", "w.js"],
			cwd: "/x",
		});
		expect(endpoint({ launcher: { type: "process", command: ["w"] } }).launcher).toEqual({
			type: "process",
			command: ["w"],
		});
		for (const command of [undefined, null, [], "node w.js"])
			expect(fields({ launcher: { type: "process", command } })).toEqual(["launcher.command"]);
		expect(fields({ launcher: { type: "process", command: ["node", 7] } })).toEqual(["launcher.command.1"]);
		expect(fields({ launcher: { type: "process", command: ["w"], cwd: 7 } })).toEqual(["launcher.cwd"]);
		expect(fields({ launcher: "process" })).toEqual(["launcher"]);
		for (const type of ["nomad", "lambda", undefined])
			expect(fields({ launcher: { type } }), type).toEqual(["launcher.type"]);
	});

	it("D25: a Slurm worker starts a command, or what its image starts", () => {
		const faults = (launcher: object): string[] =>
			fields({ launcher: { type: "slurm", sharedDir: "/s", ...launcher } });
		for (const fitting of [
			{ command: ["w"] },
			{ image: "a", command: ["w"] },
			{ image: "a", entrypoint: "image" },
			{ image: "a", entrypoint: ["w"], container: "pyxis" },
			{ image: "a", entrypoint: "image", command: ["w"], container: "pyxis" },
		])
			expect(faults(fitting), JSON.stringify(fitting)).toEqual([]);
		for (const entrypoint of ["other", [], [7]])
			expect(faults({ image: "a", entrypoint })[0], String(entrypoint)).toMatch(/^launcher.entrypoint/);
		expect(faults({ image: "a" })).toEqual(["launcher.command"]);
		expect(faults({ command: ["w"], entrypoint: ["x"] })).toEqual(["launcher.entrypoint"]);
		expect(faults({ image: "a", entrypoint: "image", container: "pyxis" })).toEqual(["launcher.command"]);
	});

	it("D25: the docker launcher", () => {
		const all = {
			type: "docker",
			image: "registry.example.com:5000/ocr@sha256:0a",
			command: ["python", "-u", "h.py"],
			memory: "512m",
			cpus: 0.5,
			volumes: ["/models:/models:ro", "cache:/c"],
			network: "jobs",
			gpus: [0, "GPU-1"],
		};
		expect(endpoint({ launcher: all }).launcher).toEqual(all);
		expect(
			endpoint({
				launcher: { type: "docker", image: "ocr", command: null, memory: 6_291_456, gpus: "all" },
			}).launcher,
		).toEqual({ type: "docker", image: "ocr", memory: 6_291_456, gpus: "all" });
		for (const shmSize of ["64k", "1m", "2G", "100000", 65_536])
			expect(fields({ launcher: { type: "docker", image: "i", shmSize } }), String(shmSize)).toEqual([]);
		for (const image of [undefined, "", "a b", "x".repeat(256), 7])
			expect(fields({ launcher: { type: "docker", image } }), String(image)).toEqual(["launcher.image"]);
		for (const [name, values] of Object.entries({
			command: ["python h.py", []],
			entrypoint: ["python", []],
			memory: ["512mb", "0", "-1m", 6_291_455, true],
			shmSize: ["1", "65535", "63k", "1b", "2gb", 65_535],
			cpus: [0, 0.001, 1025, "1"],
			volumes: ["/a:/b", {}],
			network: ["", "a/b", 7],
			gpus: ["some", -1, 1025, 0.5],
		})) {
			for (const value of values)
				expect(
					fields({ launcher: { type: "docker", image: "i", [name]: value } }),
					`${name}: ${JSON.stringify(value)}`,
				).toEqual([`launcher.${name}`]);
		}
		for (const volume of ["/a", "a:b", "/a:/b:rx", ":/b"])
			expect(fields({ launcher: { type: "docker", image: "i", volumes: [volume] } }), volume).toEqual([
				"launcher.volumes.0",
			]);
		expect(fields({ launcher: { type: "docker", image: "i", gpus: [0, -1, ""] } })).toEqual([
			"launcher.gpus.1",
			"launcher.gpus.2",
		]);
		expect(fields({ launcher: { type: "docker", image: "i", cwd: "/x" } })).toEqual(["launcher.cwd"]);
	});

	it("D35: values of env are text", () => {
		expect(endpoint({ env: { A: "x", B: 7, C: true } }).env).toEqual({ A: "x", B: "7", C: "true" });
		expect(fields({ env: { A: null, B: {} } })).toEqual(["env.A", "env.B"]);
		// No process can have it, and what refuses to start one would show the value.
		expect(fields({ env: { A: "a\0b", B: "\0" } })).toEqual(["env.A", "env.B"]);
		expect(fields({ env: ["A=x"] })).toEqual(["env"]);
	});

	it("D9: retention per operation, 0 to a year", () => {
		expect(endpoint({ retention: { run: 0, records: 31_536_000_000 } }).retention).toEqual({
			run: 0,
			runsync: 60_000,
			records: 31_536_000_000,
		});
		expect(fields({ retention: { run: -1, runsync: 31_536_000_001, records: 1.5, other: 1 } })).toEqual([
			"retention.run",
			"retention.runsync",
			"retention.records",
			"retention.other",
		]);
		expect(fields({ retention: 60 })).toEqual(["retention"]);
		const mine = endpoint({ retention: { run: 5, runsync: 6 } });
		expect([retentionOf(mine, "run"), retentionOf(mine, "runsync"), retentionOf(mine, "openai")]).toEqual([5, 6, 6]);
	});

	it("D4: null is the default, at every depth", () => {
		const nothing = Object.fromEntries(Object.keys(ENDPOINT_SCHEMA.properties).map((name) => [name, null]));
		expect(endpoint(nothing)).toStrictEqual(endpoint());
		expect(
			endpoint({
				retention: { run: null },
				limits: { queue: null, run: null, cancel: { per10s: null } },
				launcher: { type: "process", command: ["w"], cwd: null },
			}),
		).toStrictEqual({
			...endpoint(),
			limits: { cancel: {} },
			launcher: { type: "process", command: ["w"] },
		});
	});

	it("D35: names of env are such as a process can have", () => {
		expect(endpoint({ env: { "a.b": "x", _: "", é: "y" } }).env).toEqual({
			"a.b": "x",
			_: "",
			é: "y",
		});
		for (const name of ["", "A=B", "A\0"]) expect(fields({ env: { [name]: "x" } }), name).toEqual([`env.${name}`]);
		expect(endpoint(JSON.parse('{"env":{"__proto__":"x"}}') as object).env).toEqual(JSON.parse('{"__proto__":"x"}'));
	});

	it.each(LIMITED_OPERATIONS)("D24, D35: limits of %s are whole numbers from 0, or off", (operation) => {
		for (const given of [
			{},
			{ per10s: 0 },
			{ concurrent: 0 },
			{ per10s: Number.MAX_SAFE_INTEGER, concurrent: "off" },
			{ per10s: "off", concurrent: 1 },
		]) {
			expect(endpoint({ limits: { [operation]: given } }).limits).toEqual({ [operation]: given });
		}
		expect(endpoint({ limits: { [operation]: { per10s: false, concurrent: false } } }).limits).toEqual({
			[operation]: { per10s: "off", concurrent: "off" },
		});
		for (const member of ["per10s", "concurrent"]) {
			for (const value of [-1, 0.5, "7", "on", true, [], {}])
				expect(fields({ limits: { [operation]: { [member]: value } } }), JSON.stringify(value)).toEqual([
					`limits.${operation}.${member}`,
				]);
		}
		for (const value of ["off", false, 7, []])
			expect(fields({ limits: { [operation]: value } })).toEqual([`limits.${operation}`]);
		expect(fields({ limits: { [operation]: { rate: 1 } } })).toEqual([`limits.${operation}.rate`]);
	});

	it("D24: operations without limits are no names in limits", () => {
		expect(fields({ limits: { retry: {}, health: {}, Run: {} } })).toEqual([
			"limits.retry",
			"limits.health",
			"limits.Run",
		]);
	});

	it("D24: what is read is what limitsOf understands", () => {
		const mine = endpoint({ limits: { run: { per10s: 5, concurrent: false }, queue: 1 } });
		expect([limitsOf(mine, "run"), limitsOf(mine, "cancel"), limitsOf(endpoint({ limits: false }), "run")]).toEqual([
			{ per10s: 5 },
			{ per10s: 100, concurrent: 20 },
			{},
		]);
	});

	it.each([
		["its seconds", { env: { RUNPOD_INIT_TIMEOUT: "800" } }, 800_000],
		["a number", { env: { RUNPOD_INIT_TIMEOUT: 1.5 } }, 1500],
		["at most a day", { env: { RUNPOD_INIT_TIMEOUT: "1000000" } }, 86_400_000],
		["at least a second", { env: { RUNPOD_INIT_TIMEOUT: "0.1" } }, 1000],
		["a duration", { env: { RUNPOD_INIT_TIMEOUT: "10m30s" } }, 630_000],
		["nothing", { env: { RUNPOD_INIT_TIMEOUT: "" } }, 600_000],
		["initTimeoutMs itself", { initTimeoutMs: 5000, env: { RUNPOD_INIT_TIMEOUT: "800" } }, 5000],
	])("D27: RUNPOD_INIT_TIMEOUT sets initTimeoutMs: %s", (_, raw, ms) => {
		expect(endpoint(raw).initTimeoutMs).toBe(ms);
	});

	it.each(["soon", "0", "-1", "1h of time"])("D27: a RUNPOD_INIT_TIMEOUT of %s is a fault", (value) => {
		expect(readEndpoint("e", { env: { RUNPOD_INIT_TIMEOUT: value } })).toMatchObject({
			ok: false,
			faults: [{ field: "env.RUNPOD_INIT_TIMEOUT", message: expect.stringMatching(/^must be seconds/) }],
		});
	});

	it("D27: a change of RUNPOD_INIT_TIMEOUT alone changes no initTimeoutMs; null reads the variable again", () => {
		const changed = (before: object, change: object): number => {
			const { id: _, ...settings } = endpoint(before);
			return endpoint(mergeSettings(settings, change) as object).initTimeoutMs;
		};
		const env = { RUNPOD_INIT_TIMEOUT: "30" };
		expect(changed({ initTimeoutMs: 600_000 }, { env })).toBe(600_000);
		expect(changed({ initTimeoutMs: 5000 }, { env })).toBe(5000);
		expect(changed({ env: { RUNPOD_INIT_TIMEOUT: "800" } }, { env })).toBe(800_000);
		expect(changed({ env: { RUNPOD_INIT_TIMEOUT: "800" } }, { env, initTimeoutMs: null })).toBe(30_000);
		expect(changed({ initTimeoutMs: 5000 }, { initTimeoutMs: null })).toBe(600_000);
	});

	it.each(Array.from({ length: 41 }, (_, more) => 24 + more))(
		"D21, D35: a webhookSecret of %d bytes is taken",
		(bytes) => {
			const webhookSecret = `whsec_${Buffer.alloc(bytes, 0xfb).toString("base64")}`;
			expect(endpoint({ webhookSecret }).webhookSecret).toBe(webhookSecret);
		},
	);

	it.each([
		["23 bytes", `whsec_${Buffer.alloc(23).toString("base64")}`],
		["65 bytes", `whsec_${Buffer.alloc(65).toString("base64")}`],
		["66 bytes", `whsec_${Buffer.alloc(66).toString("base64")}`],
		["no prefix", Buffer.alloc(32).toString("base64")],
		["another prefix", `WHSEC_${Buffer.alloc(32).toString("base64")}`],
		["no padding", `whsec_${Buffer.alloc(32).toString("base64").replace("=", "")}`],
		["the alphabet of URLs", `whsec_${Buffer.alloc(32, 0xfb).toString("base64url")}=`],
		["a line break after it", `whsec_${Buffer.alloc(24).toString("base64")}\n`],
		["nothing", ""],
		["a number", 7],
	])("D21, D35: a webhookSecret with %s is refused, and not shown", (_, webhookSecret) => {
		const read = readEndpoint("e", { webhookSecret });
		expect(read).toEqual({
			ok: false,
			faults: [
				{
					field: "webhookSecret",
					message: "must be whsec_ and the base64 of 24 to 64 random bytes.",
				},
			],
		});
	});

	it("D27: names that only RunPod has are faults, and the known ones are named", () => {
		const read = readEndpoint("e", { templateId: "x", gpuTypeIds: ["y"], flashboot: true });
		if (read.ok) throw new Error("taken");
		expect(read.faults.map(({ field }) => field)).toEqual(["templateId", "gpuTypeIds", "flashboot"]);
		for (const name of Object.keys(ENDPOINT_SCHEMA.properties)) expect(read.faults[0]?.message).toContain(name);
	});

	it("D35: every fault is named at once, with its bound", () => {
		const read = readEndpoint("b@d", {
			workersMax: -1,
			idleTimeout: 0,
			leaseMs: 1,
			launcher: {},
			limits: 7,
			retention: { run: -1 },
			bogus: 1,
		});
		if (read.ok) throw new Error("taken");
		expect(read.faults.map(({ field }) => field).toSorted()).toEqual([
			"bogus",
			"id",
			"idleTimeout",
			"launcher.type",
			"leaseMs",
			"limits",
			"retention.run",
			"workersMax",
		]);
		expect(read.faults.find(({ field }) => field === "leaseMs")?.message).toContain("from 2000 to 600000");
	});
});

describe("queueBound", () => {
	it.each([
		[{}, 1500],
		[{ workersMax: 0 }, 50],
		[{ workersMax: 1 }, 500],
		[{ limits: { queue: 7 } }, 7],
		[{ limits: { queue: 0 } }, 0],
		[{ limits: { queue: "off" } }, undefined],
		[{ limits: { queue: false } }, undefined],
		[{ limits: "off" }, undefined],
		[{ limits: false }, undefined],
	] as const)("D23: of %j is %s", (raw, bound) => {
		expect(queueBound(endpoint(raw))).toBe(bound);
	});

	it("D35: limits are off or a mapping, the queue off or a whole number", () => {
		for (const limits of ["on", 7, [], true]) expect(fields({ limits })).toEqual(["limits"]);
		for (const queue of [-1, 1.5, "7", true]) expect(fields({ limits: { queue } })).toEqual(["limits.queue"]);
	});
});
