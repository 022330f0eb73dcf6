/** Options, batch script and variables of a worker, read by real shells. */
import { execFileSync } from "node:child_process";
import {
	chownSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
	ADAPTER_FAILS,
	AGAIN,
	batchScript,
	folderOf,
	nameOf,
	NO_ADAPTER,
	NO_VARIABLES,
	ownerIn,
	sbatchOptions,
	STARTED_AGAIN,
	type SlurmSpec,
	variablesFile,
	variablesPath,
} from "./script.ts";
import { check } from "../../kernel/lib/schema.ts";
import { SETTINGS, type SlurmSettings } from "./settings.ts";
import { until } from "../../../test/support/until.ts";

const ODD = 'it\'s "$HOME" `id` \\ two\nlines !';
const SECRET = "token-of-the-worker";

let sharedDir: string;
beforeEach(() => {
	sharedDir = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
});
afterEach(() => rmSync(sharedDir, { recursive: true, force: true }));

function spec(settings: Partial<SlurmSettings> = {}, change: Partial<SlurmSpec> = {}): SlurmSpec {
	return {
		workerId: "gpt-0123456789ab",
		endpoint: "gpt",
		settings: { type: "slurm", command: ["node", "worker.js"], sharedDir, ...settings },
		serviceId: "service1",
		env: { RUNPOD_AI_API_KEY: SECRET, ODD },
		url: "http://10.0.0.1:8080",
		gpus: [],
		gpuCount: 0,
		workersMax: 3,
		stopGraceMs: 5000,
		...change,
	};
}

/** Runs the batch script as a node does. */
function run(of: SlurmSpec, adapter?: readonly string[]): string {
	return execFileSync("bash", [], { input: batchScript(of, adapter), encoding: "utf8", stdio: "pipe" });
}

/** A program in the place of the adapter's Node. */
function programOf(text: string): string {
	const path = join(sharedDir, "program");
	writeFileSync(path, `#!/bin/bash\n${text}\n`, { mode: 0o755 });
	return path;
}

/** Writes them as the launcher does. */
function writeVariables(of: SlurmSpec): string {
	mkdirSync(folderOf(of), { recursive: true });
	const path = variablesPath(folderOf(of), of.workerId);
	writeFileSync(path, variablesFile(of));
	return path;
}

describe("batchScript", () => {
	it("gives the command its arguments and variables unchanged, and empties the file", () => {
		const print = "console.log(JSON.stringify([process.argv.slice(1), process.env.ODD]))";
		const of = spec({ command: [process.execPath, "-e", print, ODD, ""] });
		const path = writeVariables(of);
		expect(JSON.parse(run(of))).toEqual([[ODD, ""], ODD]);
		expect(readFileSync(path, "utf8")).toBe("");
	});

	it("D25: the worker may have variables of any name, also of those that the script uses", () => {
		const of = spec({ command: ["printenv", "variables"] }, { env: { variables: "own" } });
		writeVariables(of);
		expect(run(of)).toBe("own\n");
	});

	it("D34: a second start of a job runs nothing, and ends the first one", () => {
		const of = spec({ command: ["echo", "run"] });
		const path = writeVariables(of);
		expect(run(of)).toBe("run\n");
		expect(() => run(of)).toThrow(expect.objectContaining({ status: STARTED_AGAIN, stdout: "", stderr: `${AGAIN}\n` }));
		expect(existsSync(path)).toBe(false);
	});

	it("D25: keeps the service's token for Slurm from the worker, which may have one of its own", () => {
		const command = ["sh", "-c", 'echo "${SLURM_JWT-none}"'];
		const own = spec({ command }, { env: { SLURM_JWT: "own" } });
		for (const [of, found] of [
			[spec({ command }), "none\n"],
			[own, "own\n"],
		] as const) {
			writeVariables(of);
			const env = { PATH: process.env["PATH"], SLURM_JWT: "of-the-service" };
			expect(execFileSync("/bin/bash", [], { input: batchScript(of), encoding: "utf8", env })).toBe(found);
		}
	});

	it.skipIf(process.getuid?.() !== 0)("D26: does not read a file of another user, nor a link", () => {
		const of = spec({ command: ["echo", "run"] });
		const path = writeVariables(of);
		chownSync(path, 65_534, 65_534);
		expect(() => run(of)).toThrow(expect.objectContaining({ status: NO_VARIABLES, stdout: "" }));
		renameSync(path, `${path}.real`);
		chownSync(`${path}.real`, 0, 0);
		symlinkSync(`${path}.real`, path);
		expect(() => run(of)).toThrow(expect.objectContaining({ status: NO_VARIABLES, stdout: "" }));
	});

	it("becomes the command: its signals and exit code are the job's", () => {
		const of = spec({ command: ["sh", "-c", "kill -TERM $$"] });
		writeVariables(of);
		expect(() => run(of)).toThrow(expect.objectContaining({ signal: "SIGTERM" }));
	});

	it("says which folder is missing on the node", () => {
		expect(() => run(spec())).toThrow(
			expect.objectContaining({
				status: NO_VARIABLES,
				stderr: expect.stringMatching(
					/^The worker's variables in .*gpt-0123456789ab.env cannot be read on .*: sharedDir must be the same folder/,
				),
			}),
		);
	});

	it("runs the lines of setup in a login shell before", () => {
		const of = spec({
			setup: ["GREETING=hi", "export GREETING"],
			command: ["printenv", "GREETING"],
		});
		writeVariables(of);
		expect(run(of)).toBe("hi\n");
		expect(batchScript(of).split("\n")[0]).toBe("#!/bin/bash -l");
	});

	it("D31: neither script nor options contain a value of env", () => {
		for (const text of [batchScript(spec()), sbatchOptions(spec()).join("\n")]) expect(text).not.toContain(SECRET);
	});

	it.each<[string, Partial<SlurmSettings>, number, string]>([
		[
			"apptainer with GPUs",
			{ image: "/images/w.sif", volumes: ["/m:/runpod-volume:ro"], cwd: "/srv" },
			2,
			"exec 'apptainer' 'exec' '--nv' '--bind=/m:/runpod-volume:ro' '/images/w.sif' 'node' 'worker.js'",
		],
		[
			"apptainer with a named volume",
			{ image: "/w.sif", volumes: ["models:/runpod-volume"], sharedDir: "/shared" },
			0,
			"exec 'apptainer' 'exec' '--bind=/shared/volumes/models:/runpod-volume' '/w.sif' 'node' 'worker.js'",
		],
		[
			"apptainer without GPUs",
			{ image: "docker://w:1" },
			0,
			"exec 'apptainer' 'exec' 'docker://w:1' 'node' 'worker.js'",
		],
		[
			"pyxis",
			{ image: "w+w.sqsh", container: "pyxis", volumes: ["/m:/x", "/n:/y:ro"] },
			1,
			"exec 'srun' '--ntasks=1' '--container-image=w+w.sqsh' '--container-mounts=/m:/x,/n:/y:ro' 'node' 'worker.js'",
		],
		[
			"apptainer with the ENTRYPOINT of the image",
			{ image: "docker://w:1", entrypoint: "image", command: ["-u"] },
			0,
			"exec 'apptainer' 'run' 'docker://w:1' '-u'",
		],
		[
			"apptainer with an entry point of its own",
			{ image: "docker://w:1", entrypoint: ["sh", "-c"], command: ["run it"] },
			0,
			"exec 'apptainer' 'exec' 'docker://w:1' 'sh' '-c' 'run it'",
		],
		[
			"pyxis with the ENTRYPOINT of the image",
			{ image: "w:1", container: "pyxis", entrypoint: "image" },
			0,
			"exec 'srun' '--ntasks=1' '--container-image=w:1' '--container-entrypoint' 'node' 'worker.js'",
		],
	])("runs the command inside an image: %s", (_, settings, gpuCount, line) => {
		expect(batchScript(spec(settings, { gpuCount })).trimEnd().split("\n").at(-1)).toBe(line);
	});

	it("no image is an option of apptainer, such as one that mounts a folder", () => {
		const faults = (image: string) => check(SETTINGS.properties!["image"]!, image);
		expect(faults("docker://w:1")).toEqual([]);
		expect(faults("--bind=/home:/x,docker://w:1")).toHaveLength(1);
	});

	it("refuses volumes without an image, which would have no effect", () => {
		expect(() => batchScript(spec({ volumes: ["models:/runpod-volume"] }))).toThrow(
			/^launcher.volumes needs launcher.image: /,
		);
	});
});

describe("batchScript of an adapter", () => {
	const pyxis: Partial<SlurmSettings> = { image: "w:1", container: "pyxis" };

	it.each<[string, Partial<SlurmSettings>, number, string]>([
		["a command", {}, 0, "'node' 'worker.js'"],
		["apptainer", { image: "/w.sif" }, 1, "'apptainer' 'exec' '--nv' '/w.sif' 'node' 'worker.js'"],
		["pyxis", pyxis, 0, "'srun' '--ntasks=1' '--container-image=w:1' 'node' 'worker.js'"],
	])("runs the adapter on the node, with the server as its child: %s", (_, settings, gpuCount, server) => {
		const lines = batchScript(spec(settings, { gpuCount }), ["/s/node", "/s/sluice-http.js"]).trimEnd().split("\n");
		expect(lines.at(-1)).toBe(`exec '/s/node' '/s/sluice-http.js' '--' ${server}`);
		expect(lines.at(-5)).toBe("'/s/node' --version >/dev/null || {");
	});

	it("becomes the adapter, which gets the variables, after the lines of setup", () => {
		const command = [programOf('echo "$RUNPOD_AI_API_KEY $STEP $*"'), "http.js"];
		const of = spec({ setup: ["export STEP=2"] });
		writeVariables(of);
		expect(run(of, command)).toBe(`${SECRET} 2 http.js -- node worker.js\n`);
	});

	it("D29: says that a node cannot run it, with the error of the node, and does not start the server", () => {
		const of = spec({ command: ["echo", "run"] });
		for (const [command, why] of [
			[[programOf("echo wrong libc >&2; exit 1"), "http.js"], /^wrong libc\n/],
			[[join(sharedDir, "absent"), "http.js"], /absent: No such file or directory\n/],
		] as const) {
			writeVariables(of);
			const stderr = expect.stringMatching(new RegExp(`${why.source}${ADAPTER_FAILS} ${command[0]}\n$`));
			expect(() => run(of, command)).toThrow(expect.objectContaining({ status: NO_ADAPTER, stdout: "", stderr }));
		}
	});

	it("D29: a command of the settings is looked up on the PATH, not called", () => {
		const adapterCommand = ["no-such-adapter"];
		const of = spec({ adapterCommand });
		writeVariables(of);
		const stderr = `${ADAPTER_FAILS} no-such-adapter\n`;
		expect(() => run(of, adapterCommand)).toThrow(expect.objectContaining({ status: NO_ADAPTER, stderr }));
		const present = spec({ adapterCommand: ["echo"] });
		writeVariables(present);
		expect(run(present, ["echo"])).toBe("-- node worker.js\n");
	});

	it.runIf(process.platform === "linux")(
		"D18: a server whose adapter was killed is ended, with its children",
		async () => {
			const pids = join(sharedDir, "pids");
			// The adapter, once as the check of its version, has a server in a session of its own, which outlives it.
			const server = `sh -c 'trap "" TERM; sleep 300 & echo $$ $! >${pids}; wait' 9>&- >/dev/null 2>&1`;
			const adapter = programOf(
				`[ "$1" = --version ] && exit\nsetsid ${server} &\nuntil [ -s ${pids} ]; do sleep 0.01; done\nkill -KILL $$`,
			);
			const of = spec({}, { env: { RUNPOD_POD_ID: "gpt-0123456789ab" } });
			writeVariables(of);
			expect(() => run(of, [adapter])).toThrow(expect.objectContaining({ signal: "SIGKILL" }));
			const found = readFileSync(pids, "utf8").trim().split(" ");
			expect(found).toHaveLength(2);
			await until("both to end", () => found.every((pid) => !existsSync(`/proc/${pid}/exe`)));
		},
	);
});

describe("variablesFile", () => {
	it("refuses names that a shell cannot set", () => {
		expect(() => variablesFile(spec({}, { env: { "a.b": "1", "2x": "1", OK: "1" } }))).toThrow(
			'the variables "a.b", "2x" of env have names that no shell can set: use letters, digits and _',
		);
	});
});

describe("sbatchOptions", () => {
	it("has the settings, GPUs and marks of the worker; those of the service win", () => {
		const options = sbatchOptions(
			spec(
				{
					partition: "gpu",
					account: "lab",
					qos: "high",
					constraint: "a|b",
					timeLimit: "12:00:00",
					cpus: 4,
					memory: "16G",
					gpuType: "a100",
					cwd: "/srv",
					options: ["--exclusive", "--outp=/x"],
				},
				{ gpuCount: 2 },
			),
		);
		expect(options).toEqual([
			"--exclusive",
			"--outp=/x",
			"--partition=gpu",
			"--account=lab",
			"--qos=high",
			"--constraint=a|b",
			"--time=12:00:00",
			"--cpus-per-task=4",
			"--mem=16G",
			"--gres=gpu:a100:2",
			"--chdir=/srv",
			"--nodes=1",
			"--ntasks=1",
			"--no-requeue",
			"--export=ALL",
			"--input=/dev/null",
			"--open-mode=append",
			`--output=${sharedDir}/sluice-service1/gpt/worker-gpt-0123456789ab.log`,
			"--job-name=sluice:service1:gpt:gpt-0123456789ab",
			"--comment=Sluice worker gpt-0123456789ab of endpoint gpt, service service1",
			"--parsable",
		]);
		expect(sbatchOptions(spec({}, { gpuCount: 1 }))).toContain("--gres=gpu:1");
	});

	it("D25: refuses options that Sluice sets, abbreviated too", () => {
		const pattern = SETTINGS.properties?.["options"]?.items?.pattern ?? "";
		const accepted = [
			"--exclusive",
			"--nice=100",
			"--mail-type=END",
			"--nodelist=n1",
			"--ntasks-per-node=2",
			"--no-kill",
		];
		const refused = ["--output=x", "--export=NONE", "--array=1-3", "-p", "exclusive", "--wrap", "--x=a\nb"];
		const abbreviated = [
			"--outp=x",
			"--o=x",
			"--wra=x",
			"--arr=1-2",
			"--hol",
			"--erro=x",
			"--export-f=3",
			"--test",
			"--cluster=x",
		];
		const fits = (each: string): boolean => new RegExp(pattern, "u").test(each);
		expect(accepted.filter((each) => !fits(each))).toEqual([]);
		expect([...refused, ...abbreviated].filter(fits)).toEqual([]);
	});
});

describe("ownerIn", () => {
	it("D34: knows the service and the worker of a job", () => {
		expect(ownerIn(nameOf(spec()))).toEqual({
			serviceId: "service1",
			endpoint: "gpt",
			workerId: "gpt-0123456789ab",
		});
		for (const name of ["", "sluice", "sluice:a:b", "sluice::b:c", "sluice:a:b:c d", "my sluice:a:b:c"])
			expect(ownerIn(name)).toBeUndefined();
	});
});
