/**
 * What published workers of RunPod's organisation start here. Each is described by the form of its Dockerfile and the
 * files that matter; nothing of theirs is in this repository.
 */
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { entryOf, findEntry } from "./entry.ts";
import { commandFor } from "./script-command.ts";

type Files = Readonly<Record<string, string>>;

/** Runs `check` with a folder that has these files. */
function inFolder<T>(files: Files, check: (folder: string) => T): T {
	using temporary = mkdtempDisposableSync(join(tmpdir(), "sluice-entry-"));
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(temporary.path, name)), { recursive: true });
		writeFileSync(join(temporary.path, name), text);
	}
	return check(temporary.path);
}

/** The command with paths relative to the repository, or the reason why only the image runs it. */
function startedBy(files: Files): string | undefined {
	return inFolder(files, (folder) => {
		const entry = entryOf(folder);
		if (!entry || "needsImage" in entry) return entry && `image: ${entry.needsImage}`;
		return commandFor(entry).join(" ").replace(`${folder}/`, "");
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
		"image: Dockerfile starts /src/start.sh",
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
		"image: Dockerfile starts /start.sh, a shell script of the image",
	],
	[
		"worker-a1111",
		{
			Dockerfile: `FROM git as one\nFROM python:3 as final\nADD src .\nRUN chmod +x /start.sh\nCMD /start.sh\n`,
			"src/start.sh": "",
			"src/handler.py": "",
		},
		"image: Dockerfile starts /start.sh, a shell script of the image",
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
		"image: Dockerfile starts /entrypoint.sh, a shell script of the image",
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
		[
			"files that the base stage copies",
			`COPY pkg /app/\nFROM s0 AS s1\nCOPY main.py /opt/\nCMD ["python", "/app/worker.py"]`,
			"python3 pkg/worker.py",
		],
		["its own CMD stays", `CMD ["main.py"]\nENTRYPOINT ["python"]`, "python3 main.py"],
		["the last stage", `CMD ["python", "other.py"]\nFROM x\nCMD ["python", "main.py"]`, "python3 main.py"],
		["an init program", `ENTRYPOINT ["/usr/bin/tini", "-s", "--"]\nCMD ["python", "main.py"]`, "python3 main.py"],
		[
			"COPY with flags and a list",
			`COPY --chown=a:b --link ["pkg", "/app/"]\nCMD ["python", "/app/worker.py"]`,
			"python3 pkg/worker.py",
		],
		["exec and variables", `CMD exec A=1 python -u "main.py"`, "python3 main.py"],
		["a shell with one program", `CMD ["bash", "-c", "python main.py"]`, "python3 main.py"],
		["a module", `WORKDIR /app\nCOPY . .\nCMD ["python", "-m", "pkg.worker", "-v"]`, "python3 -m pkg.worker -v"],
		["comments and continued lines", `CMD ["python", \\\n# not this: other.py\n  "main.py"]`, "python3 main.py"],
		["no line of a here-document", `CMD python main.py\nRUN <<END\nCMD python other.py\nEND`, "python3 main.py"],
		[
			"a variable of the image",
			`ENV APP=/srv/app\nWORKDIR $APP\nCOPY pkg \${APP}\nCMD python \${APP:-x}/worker.py`,
			"python3 pkg/worker.py",
		],
		["no script: the known handler", `CMD ["npm", "start"]`, "python3 handler.py"],
		["no CMD: the known handler", "RUN true", "python3 handler.py"],
		[
			"several programs",
			`CMD service x start && python main.py`,
			"image: Dockerfile starts service x start && python main.py",
		],
		["a program", `CMD ["/opt/app/server"]`, "image: Dockerfile starts /opt/app/server, a program of the image"],
		[
			"a file that is not here",
			`CMD python -u /opt/absent.py`,
			"image: Dockerfile starts /opt/absent.py, a file of the image",
		],
		[
			"a module that is not here",
			`CMD python -m vllm.entry`,
			"image: Dockerfile starts the module vllm.entry of the image",
		],
	])("D36: %s", (_, dockerfile, expected) => {
		const files = { Dockerfile: `FROM x AS s0\n${dockerfile}\n`, "main.py": "", "other.py": "", "handler.py": "" };
		expect(startedBy({ ...files, "pkg/worker.py": "" })).toBe(expected);
	});

	it("D36: without a Dockerfile, a known handler; .runpod/Dockerfile comes first", () => {
		expect(startedBy({ "src/rp_handler.py": "" })).toBe("python3 src/rp_handler.py");
		expect(startedBy({ "notes.py": "" })).toBeUndefined();
		const both = { Dockerfile: "FROM x\nCMD /start.sh", ".runpod/Dockerfile": "FROM x\nCMD python b.py" };
		expect(startedBy({ ...both, "b.py": "", "handler.py": "" })).toBe("python3 b.py");
	});

	it("D36: a repository of a base image's worker needs its image", () => {
		const reason = "Dockerfile starts what its base image me/worker:1-base starts, and has no handler";
		expect(startedBy({ Dockerfile: "FROM me/worker:1-base\nRUN install-node a" })).toBe(`image: ${reason}`);
	});
});

it("D36: the sentence names the image and the commands", () => {
	const files = {
		Dockerfile: "FROM x\nCMD /start.sh",
		"handler.py": "",
	};
	expect(() => inFolder(files, findEntry)).toThrow(
		/^This repository needs its image: Dockerfile starts \/start\.sh, [^]*--build[^]*--image IMAGE [^]*handler\.py$/,
	);
	expect(() => inFolder({}, findEntry)).toThrow(/^No handler found in /);
});
