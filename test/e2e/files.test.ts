/** Files of a service as a process (D56): killed in the middle of an upload, by command, backed up, on a full disk. */
import { randomBytes } from "node:crypto";
import {
	cpSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { trouble } from "../support/failing-disk.ts";
import { ON_POSTGRES } from "../support/service-store.ts";
import { call, KEY, type ServiceProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { rawConnection, requestText } from "../spec/raw-http.ts";
import { sluice } from "./command.ts";
import { managed, type Managed } from "./managed.ts";
import { site } from "./site.ts";

const EXTERNAL = { ep: { launcher: { type: "external" } } };
const FILES = "/v2/ep/openai/v1/files";
const MB = 2 ** 20;

/** Begins an upload of 200 MB, and sends 20 of them. */
async function begun({ url }: ServiceProcess) {
	const connection = await rawConnection(url);
	const headers = {
		Authorization: `Bearer ${KEY}`,
		"Content-Type": "multipart/form-data; boundary=b",
		"Content-Length": String(200 * MB),
	};
	connection.write(requestText({ method: "POST", path: FILES, headers }));
	connection.write('--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n');
	connection.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n');
	for (let n = 0; n < 20; n += 1) connection.write(randomBytes(MB));
	return connection;
}

const idsOf = async ({ url }: ServiceProcess): Promise<string[]> =>
	(await call(url, FILES)).json.data.map(({ id }: { id: string }) => id);

describe.skipIf(ON_POSTGRES)("the folder of files", () => {
	it("D17, D56: kill -9 in the middle of an upload: no half file is seen, its bytes are removed", async (test) => {
		const place = site(test);
		let service = await place.serve({ endpoints: EXTERNAL });
		const folder = join(place.folder.path, "sluice.db.files");
		const connection = await begun(service);
		const part = await until("bytes to be written", () =>
			existsSync(folder) ? readdirSync(folder).find((name) => name.endsWith(".part")) : undefined,
		);
		await until("10 MB to be written", () => readFileSync(join(folder, part)).length > 10 * MB);
		expect(await idsOf(service)).toEqual([]);
		await service.end("SIGKILL");
		await connection.closed;
		service = await place.serve();
		expect(await idsOf(service)).toEqual([]);
		expect(readdirSync(folder)).toEqual([part]);
		const old = Date.now() / 1000 - 7200;
		utimesSync(join(folder, part), old, old);
		await service.end("SIGKILL");
		service = await place.serve();
		await until("the sweep", () => readdirSync(folder).length === 0);
		expect(await service.end()).toBe(0);
	});
});

describe("sluice files", () => {
	it("D36, D56: put, list, get and rm", async (test) => {
		const { ask, stdoutOf, cwd } = await managed(test, () => EXTERNAL);
		expect(await stdoutOf("files", "list", "ep")).toBe("No files. Upload one: sluice files put ep FILE\n");
		const content = randomBytes(3 * MB);
		writeFileSync(join(cwd, 'large "one".jsonl'), content);
		const id = (await stdoutOf("files", "put", "ep", 'large "one".jsonl', "-o", "name")).trim();
		expect(id).toMatch(/^file-[0-9a-f]{32}$/);
		const [, listed] = (await stdoutOf("files", "list", "ep")).split("\n");
		expect(listed).toMatch(new RegExp(`^${id} +large "one"\\.jsonl +3\\.1 MB +batch +`));
		mkdirSync(join(cwd, "results"));
		expect(await stdoutOf("files", "get", "ep", id, "results")).toBe('Wrote results/large "one".jsonl: 3.1 MB.\n');
		expect(readFileSync(join(cwd, "results", 'large "one".jsonl')).equals(content)).toBe(true);
		expect(readdirSync(join(cwd, "results"))).toEqual(['large "one".jsonl']);
		const again = await ask("files", "get", "ep", id, "results");
		expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("pass --force to replace it") });
		expect(await stdoutOf("files", "rm", "ep", id, "--yes")).toBe(`Deleted ${id}.\n`);
		const missing = await ask("files", "get", "ep", id);
		expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining(`There is no file '${id}'`) });
	});

	it("D36, D56: a refusal is the service's sentence; a file that cannot be read is named", async (test) => {
		const { ask, cwd } = await managed(test, () => EXTERNAL);
		writeFileSync(join(cwd, "a.txt"), "a");
		const purpose = await ask("files", "put", "ep", "a.txt", "--purpose", "evals");
		expect(purpose).toMatchObject({ code: 1, stderr: expect.stringContaining("batch, user_data, vision only") });
		const time = await ask("files", "put", "ep", "a.txt", "--expires", "1m");
		expect(time).toMatchObject({ code: 1, stderr: expect.stringContaining("from 3600 to 2592000") });
		expect(await ask("files", "put", "ep", "none")).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("none cannot be read"),
		});
		expect(await ask("files", "put", "ep", ".")).toMatchObject({ code: 1, stderr: ". is not a file.\n" });
	});
});

it("D36, D56: a file that the service refuses while it is sent is refused with the bound", async (test) => {
	const place = site(test);
	const { url } = await place.serve({ endpoints: EXTERNAL, file: { files: { maxMb: 1 } } });
	const cwd = place.folder.path;
	writeFileSync(join(cwd, "large.bin"), Buffer.alloc(40 * MB));
	const env = { SLUICE_URL: url, SLUICE_API_KEY: KEY };
	const refused = await sluice(test, ["files", "put", "ep", "large.bin"], { cwd, env });
	expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("since files.maxMb is 1") });
});

/** Why no file system of a test's own can be had here. */
const NO_MOUNT = trouble("unshare", "--mount", "mount", "-t", "tmpfs", "sluice-test", "/mnt");

describe.skipIf(ON_POSTGRES || NO_MOUNT !== undefined)(`a full disk ${NO_MOUNT ?? ""}`, () => {
	it("D40, D56: an upload is 503 and leaves nothing; files that are there are read, and jobs go on", async (test) => {
		const here = await furnished(test);
		const folder = join(here.cwd, "sluice.db.files");
		renameSync(folder, `${folder}.before`);
		mkdirSync(folder);
		expect(trouble("mount", "-t", "tmpfs", "-o", "size=6m", "sluice-test", folder)).toBeUndefined();
		test.onTestFinished(() => void trouble("umount", "-l", folder));
		cpSync(join(`${folder}.before`, here.id), join(folder, here.id));
		writeFileSync(join(here.cwd, "large.bin"), randomBytes(8 * MB));
		const full = await here.ask("files", "put", "ep", "large.bin");
		expect(full).toMatchObject({ code: 1, stderr: expect.stringMatching(/store is unavailable .*no space left/i) });
		expect(readdirSync(folder)).toEqual([here.id]);
		expect(await idsOf(here.service)).toEqual([here.id]);
		await here.stdoutOf("files", "get", "ep", here.id, "again.bin");
		expect(readFileSync(join(here.cwd, "again.bin")).equals(here.content)).toBe(true);
		expect((await call(here.service.url, "/v2/ep/run", { body: { input: {} } })).status).toBe(200);
		writeFileSync(join(here.cwd, "small.bin"), randomBytes(2 * MB));
		expect(await here.stdoutOf("files", "put", "ep", "small.bin")).toMatch(/^file-/);
	});
});

/** A service with a file, and its content. */
async function furnished(test: TestContext): Promise<Managed & { id: string; content: Buffer }> {
	const here = await managed(test, () => EXTERNAL);
	const content = randomBytes(2 * MB);
	writeFileSync(join(here.cwd, "a.bin"), content);
	const id = (await here.stdoutOf("files", "put", "ep", "a.bin", "-o", "name")).trim();
	return { ...here, id, content };
}

describe.skipIf(ON_POSTGRES)("D46, D56: a backup", () => {
	it("has the bytes of files, which a restore puts in place; one without them is not sound", async (test) => {
		const { ask, stdoutOf, cwd, place, service, id, content } = await furnished(test);
		expect((await ask("backup", "b.tar")).code).toBe(0);
		expect(await service.end()).toBe(0);
		const folder = join(cwd, "sluice.db.files");
		expect(readdirSync(folder)).toEqual([id]);
		rmSync(join(folder, id));
		const unsound = await ask("verify", "sluice.db");
		expect(unsound).toMatchObject({ code: 1, stdout: expect.stringContaining(`1 files are not whole in`) });
		const refused = await ask("restore", "b.tar", "--store", `sqlite:${join(cwd, "sluice.db")}`);
		expect(refused.stderr).toContain("exists; a restore never replaces a store");
		for (const name of readdirSync(cwd))
			if (/^sluice\.db(?!\.secret)/.test(name)) rmSync(join(cwd, name), { recursive: true });
		const restored = await ask("restore", "b.tar", "--store", `sqlite:${join(cwd, "sluice.db")}`);
		expect(restored).toMatchObject({ code: 0, stdout: expect.stringMatching(/files +1\n/) });
		await place.serve();
		await stdoutOf("files", "get", "ep", id, "again.bin");
		expect(readFileSync(join(cwd, "again.bin")).equals(content)).toBe(true);
	});
});
