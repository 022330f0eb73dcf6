/** `sluice` as one file without Node, as `npm run release` makes it and `install.sh` installs it (0051). */
import { execFileSync, spawnSync } from "node:child_process";
import {
	chmodSync,
	createReadStream,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { docker, noDocker, titled } from "../support/docker.ts";
import { freePort } from "../support/free-port.ts";
import { folder, KEY } from "../support/service.ts";
import { importBareImage } from "./bare-image.ts";
import { makeRelease, runProgram } from "./release.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PLATFORM = `${process.platform}-${process.arch}`;
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
const FILE = `sluice-${version}-${PLATFORM}.gz`;
const IMAGE = "sluice-test-bare:latest";

const place = folder();
const release = join(place.path, "release");
const installer = join(release, "install.sh");
let server: Server;
let address = "";

/** Serves the release, and below `/wrong` the same with another checksum of the executable. */
beforeAll(async () => {
	makeRelease(release, "--no-image", "--platform", PLATFORM);
	server = createServer(({ url = "" }, response) => {
		const path = join(release, basename(url));
		if (!existsSync(path)) response.writeHead(404).end();
		else if (url === "/wrong/SHA256SUMS")
			response.end(readFileSync(path, "utf8").replace(/^.*(?=\s+sluice-.*gz$)/gm, "0".repeat(64)));
		else createReadStream(path).pipe(response);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 400_000);

afterAll(() => {
	server.close();
	place.remove();
});

async function run(program: string, args: readonly string[], env: Record<string, string>) {
	return await runProgram(program, args, { PATH: "/usr/bin:/bin", ...env }, place.path);
}

describe("install.sh", () => {
	it("installs to ~/.local/bin and to another folder, and says how to start", async () => {
		const HOME = join(place.path, "home");
		const env = { HOME, SLUICE_DOWNLOAD: `${address}/`, TMPDIR: place.path };
		const { stdout, stderr } = await run("sh", [installer], env);
		expect(stderr).toBe("");
		const program = `${HOME}/.local/bin/sluice`;
		expect(stdout).toContain(`Installed sluice ${version} to ${program}\nStart it with: ${program} serve`);
		expect(readdirSync(join(HOME, ".local/bin"))).toEqual(["sluice"]);
		const cache = join(HOME, ".cache/sluice");
		const [files] = readdirSync(cache);
		expect(readlinkSync(join(cache, files!, "node/node")), "the link leads to what was installed").toBe(program);
		expect(await run("sh", [installer, "--to", "other folder"], env)).toMatchObject({ code: 0, stderr: "" });
		const other = join(place.path, "other folder/sluice");
		expect((await run(other, ["--version"], { HOME })).stdout).toBe(`${version}\n`);
		expect(readdirSync(place.path).toSorted()).toEqual(["home", "other folder", "release"]);
	}, 120_000);

	it("refuses a file with another checksum and leaves nothing", async () => {
		const HOME = join(place.path, "nothing");
		const TMPDIR = join(place.path, "temporary");
		mkdirSync(TMPDIR);
		const refused = await run("sh", [installer], { HOME, TMPDIR, SLUICE_DOWNLOAD: `${address}/wrong` });
		expect(refused.code).toBe(1);
		expect(refused.stderr).toContain(`${FILE} has the wrong checksum and was not installed.\n  expected 0000`);
		expect(existsSync(HOME)).toBe(false);
		expect(readdirSync(TMPDIR)).toEqual([]);
	});

	it("says what to set without an address", async () => {
		const { code, stderr } = await run("sh", [installer], { HOME: place.path });
		expect(code).toBe(1);
		expect(stderr).toContain("set SLUICE_DOWNLOAD to the address of a folder with the files of a release");
	});
});

describe("the executable", () => {
	const executable = join(place.path, "sluice");
	const cache = join(place.path, "cache");
	const start = async (...args: string[]) => await run(executable, args, { XDG_CACHE_HOME: cache });
	const unpacked = () => {
		const [name, ...others] = readdirSync(join(cache, "sluice"));
		expect(others).toEqual([]);
		return join(cache, "sluice", name!);
	};
	beforeAll(() => {
		writeFileSync(executable, execFileSync("gzip", ["-dc", join(release, FILE)], { maxBuffer: 2 ** 28 }));
		chmodSync(executable, 0o755);
	});

	it("unpacks its files once when it is started several times at once, for this user only", async () => {
		const runs = await Promise.all([1, 2, 3].map(async () => await start("--version")));
		for (const each of runs) expect(each).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });
		expect(statSync(unpacked()).mode & 0o777).toBe(0o700);
		const { mtimeMs } = statSync(join(unpacked(), "dist/main.js"));
		expect((await start("completion", "bash")).stdout).toContain("complete -o default -F _sluice sluice");
		expect(statSync(join(unpacked(), "dist/main.js")).mtimeMs).toBe(mtimeMs);
	}, 120_000);

	it("has the licences of Node, of Sluice and of each package in it", async () => {
		await start("--version");
		const text = (path: string): string => readFileSync(join(unpacked(), path), "utf8");
		expect(text("node.LICENSE")).toMatch(/^Node\.js is licensed for use as follows:[^]*\bV8\b[^]*\bOpenSSL\b/);
		expect(text("LICENSE")).toContain("Apache License");
		const files = readdirSync(join(unpacked(), "node_modules"), { recursive: true, encoding: "utf8" });
		const packages = files.filter((path) => /^(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path)).map(dirname);
		expect(packages).toContain("pg-types");
		for (const name of packages) {
			const texts = readdirSync(join(unpacked(), "node_modules", name)).filter((each) =>
				/licen[cs]e|\.md$/i.test(each),
			);
			expect(texts.map((each) => text(`node_modules/${name}/${each}`)).join(), name).toMatch(/copyright/i);
		}
	});

	it("unpacks them again if one is missing or cut off", async () => {
		for (const damage of [
			() => truncateSync(join(unpacked(), "dist/main.js"), 10),
			() => rmSync(join(unpacked(), "dist/kernel/store"), { recursive: true }),
		]) {
			damage();
			expect(await start("--version")).toMatchObject({ code: 0, stdout: `${version}\n` });
			expect(readdirSync(join(unpacked(), "dist/kernel"))).toContain("store");
		}
	});

	it("refuses files that others can change, and a cache that it cannot write", async () => {
		chmodSync(unpacked(), 0o777);
		const { code, stderr } = await start("--version");
		chmodSync(unpacked(), 0o700);
		expect(code).toBe(2);
		expect(stderr).toContain("others can write to it: remove it.");
		const refused = await run(executable, ["--version"], { XDG_CACHE_HOME: executable });
		expect(refused).toMatchObject({ code: 2, stdout: "" });
		expect(refused.stderr).toContain("Set XDG_CACHE_HOME to a folder that this user can write to");
	});

	it("is the Node of workers: under the name node it runs a script with flags", async () => {
		const node = join(unpacked(), "node/node");
		expect(readlinkSync(node)).toBe(executable);
		const script = join(place.path, "script.ts");
		writeFileSync(
			script,
			`const seen: string[] = [process.execPath, ...process.argv.slice(1), process.env.NODE_OPTIONS ?? "none"];
process.emitWarning("unwanted", "Unwanted");
console.log(JSON.stringify(seen));`,
		);
		const env = { XDG_CACHE_HOME: cache };
		const ran = await run(node, ["--disable-warning=Unwanted", script, "--flag", "a b"], env);
		expect(ran).toMatchObject({ code: 0, stderr: "" });
		expect(JSON.parse(ran.stdout)).toEqual([node, script, "--flag", "a b", "none"]);
		const absent = join(place.path, "absent");
		const elsewhere = await run(node, ["--disable-warning=Unwanted", script], { XDG_CACHE_HOME: absent });
		const [own] = JSON.parse(elsewhere.stdout) as string[];
		expect(readlinkSync(own!), "where this version has not run yet, a worker can still start its Node").toBe(
			executable,
		);
		const nothing = await run(node, [], env);
		expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining("runs scripts only") });
	});

	it("gives a handler in JavaScript a Node when none is installed", async () => {
		const handler = join(place.path, "handler.js");
		writeFileSync(handler, "export default async ({ input }) => ({ node: process.versions.node, input });");
		const local = { HOME: place.path, XDG_CACHE_HOME: cache, PATH: "/nothing" };
		writeFileSync(join(place.path, "test_input.json"), '{"input": {"name": "Ann"}}');
		mkdirSync(join(place.path, ".runpod"));
		writeFileSync(
			join(place.path, ".runpod/tests.json"),
			JSON.stringify({ tests: [{ name: "greets", input: { name: "Ann" }, timeout: 20_000 }] }),
		);
		const { code, stdout, stderr } = await run(executable, ["dev", ".", "--test", "--port", "0"], local);
		expect({ code, stderr, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("greets") });
	});
});

/** Answers each job with a fixed result. */
const WORKER = `
fill() { printf '%s' "\${1%%"$2"*}$3\${1#*"$2"}"; }
take=$(fill "$RUNPOD_WEBHOOK_GET_JOB" '$ID' "$RUNPOD_POD_ID")
post=$(fill "$RUNPOD_WEBHOOK_POST_OUTPUT" '$RUNPOD_POD_ID' "$RUNPOD_POD_ID")
while :; do
	job=$(curl -sS -H "Authorization: $RUNPOD_AI_API_KEY" "$take&job_in_progress=0") || exit 1
	id=\${job#*'"id":"'}
	[ "$id" != "$job" ] || continue
	curl -sS -H "Authorization: $RUNPOD_AI_API_KEY" -d '{"output": "from a shell"}' \\
		"$(fill "$post" '$ID' "\${id%%'"'*}")&isStream=false"
done
`;

const FIRST_RESULT = `
set -e
curl -fsS "$SLUICE_DOWNLOAD/install.sh" | sh
cat >sluice.yaml <<'EOF'
endpoints:
  hello:
    launcher: { type: process, command: [sh, /root/worker.sh] }
EOF
~/.local/bin/sluice serve --config sluice.yaml --port "$PORT" >log 2>&1 &
until curl -fs -o /dev/null "http://127.0.0.1:$PORT/readyz"; do kill -0 $! || { cat log; exit 1; }; sleep 0.1; done
curl -fsS -H "Authorization: Bearer $SLUICE_API_KEY" -d '{"input": {}}' "http://127.0.0.1:$PORT/v2/hello/runsync"
echo
kill $!
wait $!
times
`;

describe.skipIf(noDocker !== undefined || process.platform !== "linux")(
	titled("a machine with a shell and curl, without Node"),
	() => {
		beforeAll(() => importBareImage(IMAGE, [process.execPath]), 120_000);
		afterAll(async () => void (await docker("rmi", IMAGE)));

		it("gets its first result in under 20 s of computing time, from the download on", async () => {
			const env = {
				HOME: "/root",
				SLUICE_API_KEY: KEY,
				SLUICE_DOWNLOAD: address,
				PORT: String(await freePort()),
				PATH: "/bin",
			};
			const values = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
			const script = `mkdir -p /root; cd /root; cat >worker.sh <<'END'\n${WORKER}END\n${FIRST_RESULT}`;
			const output = await docker("run", "--rm", "--network", "host", ...values, IMAGE, "sh", "-c", script);
			expect(output).toContain(`Installed sluice ${version} to /root/.local/bin/sluice`);
			expect(output).toMatch(/"status":"COMPLETED".*"output":"from a shell"/);
			// The last line of times has the time of all programs; time on the clock counts what else the machine does.
			const [, ...parts] = /(\d+)m([\d.]+)s (\d+)m([\d.]+)s$/.exec(output)!.map(Number);
			expect(parts[0]! * 60 + parts[1]! + parts[2]! * 60 + parts[3]!).toBeLessThan(20);
			expect(spawnSync("docker", ["run", "--rm", IMAGE, "sh", "-c", "command -v node"]).status).not.toBe(0);
		}, 120_000);
	},
);
