/** Files in `/metrics` (D40, D56). */
import { toFile } from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { StoreUnavailable } from "../../../../src/kernel/store/contract/store.ts";
import { KEY, startService, type TestService } from "../../../support/service.ts";
import { keyWith } from "../../operator.ts";
import { clientOf } from "./files-client.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { a: {}, b: {}, none: {} } });
});
afterAll(() => service.end());

async function samples(key = KEY): Promise<string[]> {
	const answer = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
	expect(answer.status).toBe(200);
	return (await answer.text()).split("\n").filter((line) => line.startsWith("sluice_files"));
}

async function stored(endpoint: string, bytes: number): Promise<string> {
	const file = await toFile(Buffer.alloc(bytes), "a.bin");
	return (await clientOf(service, endpoint).files.create({ file, purpose: "user_data" })).id;
}

it("D40, D56: how many files an endpoint has, and their bytes", async () => {
	expect(await samples()).toEqual([]);
	const id = await stored("a", 10);
	await stored("a", 300_000);
	await stored("b", 7);
	expect(await samples()).toEqual([
		'sluice_files{endpoint="a"} 2',
		'sluice_files{endpoint="b"} 1',
		'sluice_files_bytes{endpoint="a"} 300010',
		'sluice_files_bytes{endpoint="b"} 7',
	]);
	await clientOf(service, "a").files.delete(id);
	expect(await samples()).toContain('sluice_files_bytes{endpoint="a"} 300000');
});

it("D30, D40, D56: a key of one endpoint sees its files only", async () => {
	const { key } = await keyWith(service, ["read"], ["b"]);
	expect(await samples(key)).toEqual(['sluice_files{endpoint="b"} 1', 'sluice_files_bytes{endpoint="b"} 7']);
});

it("D40, D56: they are missing while the store is unavailable, and other families are not", async () => {
	const { files } = service.engine.kernel.store;
	const { totals } = files;
	files.totals = () => Promise.reject(new StoreUnavailable("unreachable", "stopped"));
	try {
		expect(await samples()).toEqual([]);
	} finally {
		files.totals = totals;
	}
	expect(await samples()).toHaveLength(4);
});
