/** What the adapter's image is made of; that it runs is in test/launchers/docker-http.test.ts. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { unpackTar } from "modern-tar";
import { describe, expect, it, onTestFinished } from "vitest";
import { adapterContent, type NodeReport } from "./adapter-files.ts";

/** A worker kit as it is built, and libraries in folders of the test. */
function place() {
	const root = mkdtempSync(join(tmpdir(), "sluice-adapter-"));
	onTestFinished(() => rmSync(root, { recursive: true }));
	const kit = join(root, "kit");
	const libraries = join(root, "lib");
	for (const folder of [kit, join(kit, "types"), libraries]) mkdirSync(folder);
	writeFileSync(join(kit, "sluice-http.js"), "1");
	const library = (name: string): string => {
		writeFileSync(join(libraries, name), name);
		return join(libraries, name);
	};
	const report = (glibcVersionRuntime: string | undefined, ...sharedObjects: string[]): NodeReport => ({
		sharedObjects,
		header: glibcVersionRuntime === undefined ? {} : { glibcVersionRuntime },
	});
	return { kit, libraries, library, report };
}

describe.skipIf(process.platform !== "linux")("adapterContent", () => {
	it("has Node, the libraries that are loaded, and the kit without its types", async () => {
		const { kit, libraries, library, report } = place();
		const loaded = ["linux-vdso.so.1", library("libc.so.6"), library("ld-linux.so.2"), "/app/addon.node"];
		const content = await adapterContent(report("2.36", ...loaded), kit);
		const files = (await unpackTar(await buffer(content.tar(() => {})))).filter(({ header }) => header.type === "file");
		const names = files.map(({ header }) => `/${header.name}`);
		expect(names).toEqual(
			expect.arrayContaining([
				"/usr/bin/node",
				"/usr/bin/sluice-http",
				"/opt/sluice/sluice-http.js",
				join(libraries, "libc.so.6"),
				join(libraries, "ld-linux.so.2"),
				"/etc/passwd",
			]),
		);
		expect(names.filter((name) => /vdso|addon|types/.test(name))).toEqual([]);
		const node = files.find(({ header }) => header.name === "usr/bin/node")!;
		expect(node.header.mode).toBe(0o755);
		expect(Buffer.from(node.data!.subarray(0, 4)).toString()).toBe("\x7fELF");
		expect(content.changes).toEqual(
			expect.arrayContaining([`ENV LD_LIBRARY_PATH=${libraries}`, "USER 1000:1000", 'ENTRYPOINT ["sluice-http"]']),
		);
	});

	it.each([
		["2.31", ["libc.so.6", "libnss_dns.so.2", "libresolv.so.2"]],
		["2.34", ["libc.so.6"]],
	])("with glibc %s has the libraries that look up names: %j", async (glibc, expected) => {
		const { kit, library, report } = place();
		const loaded = library("libc.so.6");
		for (const name of ["libnss_dns.so.2", "libresolv.so.2"]) library(name);
		const content = await adapterContent(report(glibc, loaded), kit);
		const entries = await unpackTar(await buffer(content.tar(() => {})));
		const found = entries.map(({ header }) => header.name.split("/").at(-1)!);
		expect(found.filter((name) => /^lib.*\.so/.test(name)).toSorted()).toEqual(expected);
	});

	it("has another tag for another kit or another glibc, and the same one for the same", async () => {
		const { kit, library, report } = place();
		const loaded = library("libc.so.6");
		const tag = async (glibc: string): Promise<string> => (await adapterContent(report(glibc, loaded), kit)).tag;
		const first = await tag("2.36");
		expect(first).toMatch(/^[0-9a-f]{16}$/);
		expect(await tag("2.36")).toBe(first);
		expect(await tag("2.41")).not.toBe(first);
		writeFileSync(join(kit, "sluice-http.js"), "2");
		expect(await tag("2.36")).not.toBe(first);
	});

	it("says what to do where Node has another C library, and where the kit is not built", async () => {
		const { kit, report } = place();
		await expect(adapterContent(report(undefined), kit)).rejects.toThrow(
			"the adapter's image is made of the Node of this service, which uses another C library than glibc: " +
				"set launcher.adapterImage to an image with sluice-http, such as Sluice's own",
		);
		await expect(adapterContent(report("2.36"), join(kit, "none"))).rejects.toThrow("run npm run build");
	});
});
