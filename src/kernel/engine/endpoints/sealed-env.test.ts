/** Values of `env` in the store: encrypted. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { readEndpoint } from "../../launchers/endpoint-settings.ts";
import type { Store } from "../../store/contract/store.ts";
import { openSqlite } from "../../store/sqlite/open.ts";
import { encryption } from "../../secrets/encryption.ts";
import { endpointRegistry, type EndpointRegistry } from "./endpoint-registry.ts";

const KEY = new Uint8Array(32).fill(7);
const VALUE = "hf_a-token-for-workers-only";

const folder = mkdtempSync(join(tmpdir(), "sluice-env-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function registry(store: Store, key = KEY): EndpointRegistry {
	return endpointRegistry(store, {
		encryption: encryption([key], randomBytes),
		random: randomBytes,
		hooks: {},
	});
}

function endpoint(env: Record<string, string>): Endpoint {
	const read = readEndpoint("ep", { env });
	if (!read.ok) throw new Error("The settings of the test are bad.");
	return read.endpoint;
}

const stored = async (store: Store): Promise<string> => (await store.endpoints.list())[0]!.settings;

const noFault = (id: string, fault: string): void => expect.unreachable(`${id}: ${fault}`);

function fileBytes(path: string): string {
	const files = readdirSync(path).map((name) => readFileSync(join(path, name), "latin1"));
	return files.join("\n");
}

describe("in SQLite", () => {
	it("D22: values of env are encrypted, their names are readable", async () => {
		const path = mkdtempSync(join(folder, "a-"));
		const store = await openSqlite({ path: join(path, "s.db") });
		const known = registry(store);
		await known.put(endpoint({ HF_TOKEN: VALUE }), 1);
		expect(known.get("ep").env).toEqual({ HF_TOKEN: VALUE });
		const again = registry(store);
		await again.load(noFault);
		expect(again.get("ep").env).toEqual({ HF_TOKEN: VALUE });
		expect(await stored(store)).toContain("HF_TOKEN");
		await store.close();
		expect(fileBytes(path)).not.toContain(VALUE);
	});

	it("D22: a value that did not change keeps its text", async () => {
		const store = await openSqlite({ path: join(folder, "b.db") });
		const known = registry(store);
		await known.put(endpoint({ A: VALUE, B: "1" }), 1);
		const before = JSON.parse(await stored(store)) as { sealedEnv: Record<string, string> };
		await known.put(endpoint({ A: VALUE, B: "2" }), 2);
		const after = JSON.parse(await stored(store)) as { sealedEnv: Record<string, string> };
		expect(after.sealedEnv["A"]).toBe(before.sealedEnv["A"]);
		expect(after.sealedEnv["B"]).not.toBe(before.sealedEnv["B"]);
		await store.close();
	});

	it("D22: values under another key are missing, with a fault that names the variables", async () => {
		const store = await openSqlite({ path: join(folder, "d.db") });
		await registry(store).put(endpoint({ HF_TOKEN: VALUE }), 1);
		const before = await stored(store);
		const faults: string[] = [];
		const other = registry(store, new Uint8Array(32).fill(8));
		await other.load((id, fault) => faults.push(`${id}: ${fault}`));
		expect(faults).toEqual([expect.stringMatching(/^ep: The values of env HF_TOKEN were stored/)]);
		expect(other.get("ep").env).toEqual({});
		expect(await stored(store)).toBe(before);
		await store.close();
	});
});
