/**
 * What published workers of RunPod's organisation start here. Each is described by the form of its Dockerfile and the
 * files that matter; nothing of theirs is in this repository.
 */
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { entryOf, findEntry } from "./entry.ts";
import { commandFor } from "./script-command.ts";

type Files = Readonly<Record<string, string>>;

/** Runs `check` with a folder that has these files. */
function inFolder<T>(files: Files, check: (folder: string) => T): T {
	using parent = mkdtempDisposableSync(join(tmpdir(), "sluice-entry-"));
	const folder = join(parent.path, "repository");
	mkdirSync(folder);
	writeFileSync(join(parent.path, "outside.py"), "");
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(folder, name)), { recursive: true });
		writeFileSync(join(folder, name), text);
	}
	return check(folder);
}

/** The command with paths relative to the repository, or the reason why only the image runs it. */
function startedBy(files: Files): string | undefined {
	return inFolder(files, (folder) => {
		const entry = entryOf(folder);
		if (!entry || "needsImage" in entry) return entry && `image: ${entry.needsImage}`;
		const place = entry.cwd === undefined ? "" : ` in ${relative(folder, entry.cwd)}`;
		return commandFor(entry).join(" ").replace(`${folder}/`, "") + place;
	});
}

const PUBLISHED: [worker: string, files: Files, expected: string][] = [
	[
		"worker-vllm",
		{
			Dockerfile: `FROM cuda:13\nARG MODEL_NAME=""\nCOPY src /src\nCMD ["/bin/bash", "/src/start.sh"]\n`,
			"src/start.sh": "",
			"src/handler.py": "",
		},
		"image: Dockerfile starts /bin/bash /src/start.sh",
	],
	[
		"worker-comfyui",
		{
			Dockerfile: `ARG BASE=cuda:12
FROM \${BASE} AS base
ADD src/start.sh handler.py ./
CMD ["/start.sh"]
FROM base AS downloader
RUN if [ "$KIND" = "a" ]; then \\
      get a; \\
    fi
FROM base AS final
COPY --from=downloader /comfyui/models /comfyui/models
`,
			"handler.py": "",
			"src/start.sh": "",
		},
		"image: Dockerfile starts /start.sh",
	],
	[
		"worker-a1111",
		{
			Dockerfile: `FROM git as one\nFROM python:3 as final\nADD src .\nRUN chmod +x /start.sh\nCMD /start.sh\n`,
			"src/start.sh": "",
			"src/handler.py": "",
		},
		"image: Dockerfile starts /start.sh",
	],
	[
		"worker-faster_whisper",
		{
			Dockerfile: `FROM cuda:12\nWORKDIR /\nCOPY src .\nCOPY test_input.json .\nCMD python -u /rp_handler.py\n`,
			"src/rp_handler.py": "",
			"src/predict.py": "",
		},
		"python3 src/rp_handler.py",
	],
	[
		"a lower-case dockerfile",
		{ dockerfile: `FROM base:1\nADD src .\nCMD python -u /serve.py\n`, "src/serve.py": "", "handler.py": "" },
		"python3 src/serve.py",
	],
	[
		"worker-infinity-embedding",
		{ Dockerfile: `FROM base:1\nADD src .\n\nCMD python3.11 -u /handler.py\n`, "src/handler.py": "", "handler.py": "" },
		"python3 src/handler.py",
	],
	[
		"worker-sdxl",
		{ Dockerfile: `FROM cuda:12\nCOPY weights.py handler.py /\nCMD python -u /handler.py\n`, "handler.py": "" },
		"python3 handler.py",
	],
	[
		"worker-template",
		{
			Dockerfile: `FROM base:1\nHEALTHCHECK --retries=3 \\\n  CMD other.py\nADD src .\nCMD python -u /handler.py\n`,
			"src/handler.py": "",
			"src/other.py": "",
		},
		"python3 src/handler.py",
	],
	[
		"worker-sglang",
		{
			Dockerfile: `FROM cuda:12 as deps\nCOPY ./src/handler.py ./handler.py\nCMD ["python3", "./handler.py"]\n`,
			"src/handler.py": "",
		},
		"python3 src/handler.py",
	],
	[
		"worker-tetra",
		{
			Dockerfile: `FROM torch:2 AS builder
WORKDIR /app
COPY README.md src/* uv.lock ./
FROM torch:2
WORKDIR /app
COPY --from=builder /app /app
CMD ["uv", "run", "handler.py"]`,
			"src/handler.py": "",
			"handler.py": "",
		},
		"python3 src/handler.py",
	],
	[
		"openclaw2go",
		{
			Dockerfile: `FROM torch:2\nCOPY scripts/entrypoint.sh /entrypoint.sh\nENTRYPOINT ["/entrypoint.sh"]\n`,
			"scripts/entrypoint.sh": "",
		},
		"image: Dockerfile starts /entrypoint.sh",
	],
	[
		"vllm-loadbalancer-ep",
		{
			Dockerfile: `FROM cuda:12
COPY worker-vllm/src /src
COPY handler_lb.py /src/handler_lb.py
EXPOSE 80
CMD ["python3", "/src/handler_lb.py"]
`,
			"handler_lb.py": "",
		},
		"python3 handler_lb.py",
	],
];

describe("entryOf", () => {
	it.each(PUBLISHED)("D36: %s", (_, files, expected) => {
		expect(startedBy(files)).toBe(expected);
	});

	it.each<[title: string, dockerfile: string, expected: string]>([
		["the last CMD", `CMD python other.py\nCMD python main.py`, "python3 main.py"],
		[
			"ENTRYPOINT before CMD",
			`ENTRYPOINT ["python", "-u"]\nCMD ["main.py", "--port", "1"]`,
			"python3 main.py --port 1",
		],
		["a shell's ENTRYPOINT ignores CMD", `CMD ["other.py"]\nENTRYPOINT python main.py`, "python3 main.py"],
		[
			"an ENTRYPOINT drops the CMD of its base",
			`CMD ["other.py"]\nFROM s0 AS s1\nENTRYPOINT ["python", "main.py"]`,
			"python3 main.py",
		],
		["its own CMD stays", `CMD ["main.py"]\nENTRYPOINT ["python"]`, "python3 main.py"],
		["an init program", `ENTRYPOINT ["/usr/bin/tini", "-s", "--"]\nCMD ["python", "main.py"]`, "python3 main.py"],
		[
			"COPY with flags and a list",
			`COPY --chown=a:b --link ["pkg", "/app/"]\nCMD ["python", "/app/worker.py"]`,
			"python3 pkg/worker.py",
		],
		["exec and variables", `CMD exec A=1 python -u "main.py"`, "python3 main.py"],
		["a module", `COPY . .\nCMD ["python", "-m", "pkg.worker", "-v"]`, "python3 -m pkg.worker -v"],
		["comments and continued lines", `CMD ["python", \\\n# not this: other.py\n  "main.py"]`, "python3 main.py"],
		["a program without a script", `CMD ["npm", "start"]`, "image: Dockerfile starts npm start"],
		...["torchrun --nproc 2", "accelerate launch"].map((program): [string, string, string] => [
			`a script that ${program} starts`,
			`CMD ${program} main.py`,
			`image: Dockerfile starts ${program} main.py`,
		]),
		["Python's options", `CMD ["python3.11", "-uB", "-O", "main.py", "-m"]`, "python3 main.py -m"],
		[
			"another option of Python",
			`CMD ["python", "-c", "import main"]`,
			"image: Dockerfile starts python -c import main",
		],
		["a runner", `CMD ["uv", "run", "python", "main.py"]`, "python3 main.py"],
		[
			"a variable",
			`ARG MODEL=x\nCMD python -u main.py --model $MODEL --port 1`,
			"image: Dockerfile starts python -u main.py --model $MODEL --port 1",
		],
		[
			"a module below another folder",
			`COPY lib/ .\nCMD ["python", "-m", "deep.run", "a"]`,
			"python3 -m deep.run a in lib",
		],
		[
			"files of another stage",
			`COPY pkg .\nFROM y\nCOPY --from=s0 /app /app\nCMD python /app/worker.py`,
			"python3 pkg/worker.py",
		],
		["a file outside", `CMD python ../outside.py`, "image: Dockerfile starts python ../outside.py"],
		["no CMD: the known handler", "RUN true", "python3 handler.py"],
		[
			"several programs",
			`CMD service x start && python main.py`,
			"image: Dockerfile starts service x start && python main.py",
		],
		["a file that is not here", `CMD python -u /opt/absent.py`, "image: Dockerfile starts python -u /opt/absent.py"],
	])("D36: %s", (_, dockerfile, expected) => {
		const files = {
			Dockerfile: `FROM x AS s0\nCOPY . .\n${dockerfile}\n`,
			"main.py": "",
			"other.py": "",
			"handler.py": "",
		};
		expect(startedBy({ ...files, "pkg/worker.py": "", "lib/deep/run.py": "" })).toBe(expected);
	});

	it("D36: without a Dockerfile, a known handler; .runpod/Dockerfile comes first", () => {
		expect(startedBy({ "src/rp_handler.py": "" })).toBe("python3 src/rp_handler.py");
		expect(startedBy({ "notes.py": "" })).toBeUndefined();
		const both = { Dockerfile: "FROM x\nCMD /start.sh", ".runpod/Dockerfile": "FROM x\nCOPY b.py /\nCMD python b.py" };
		expect(startedBy({ ...both, "b.py": "", "handler.py": "" })).toBe("python3 b.py");
	});

	it("D36: a repository of a base image's worker needs its image", () => {
		const reason = "Dockerfile starts what its base image starts";
		expect(startedBy({ Dockerfile: "FROM me/worker:1-base\nRUN install-node a" })).toBe(`image: ${reason}`);
	});
});

it("D36: the sentence names the image and the commands", () => {
	const files = {
		Dockerfile: "FROM x\nCMD /start.sh",
		"handler.py": "",
	};
	expect(() => inFolder(files, findEntry)).toThrow(
		/^This repository needs its image: Dockerfile starts \/start\.sh\. [^]*--build[^]*--image IMAGE [^]*handler\.py$/,
	);
	expect(() => inFolder({}, findEntry)).toThrow(/^No handler found in /);
});
