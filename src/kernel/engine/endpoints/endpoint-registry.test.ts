/** The registry over a store that takes nothing any more. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { openSqlite } from "../../store/sqlite/open.ts";
import { endpointRegistry } from "./endpoint-registry.ts";
import { encryption } from "../../secrets/encryption.ts";
import { readEndpoint } from "../../launchers/endpoint-settings.ts";

function settings(id: string, given: object = {}): Endpoint {
	const read = readEndpoint(id, given);
	if (!read.ok) throw new Error("The settings of the test are bad.");
	return read.endpoint;
}

it("D39: a change or deletion that the store cannot take has not begun", async () => {
	const folder = mkdtempSync(join(tmpdir(), "sluice-registry-"));
	try {
		const store = await openSqlite({ path: join(folder, "s.db") });
		const known = endpointRegistry(store, {
			encryption: encryption([randomBytes(32)], randomBytes),
			random: randomBytes,
			hooks: {},
		});
		await known.put(settings("ep", { workersMax: 1 }), 1);
		await store.close();
		const before = { ...known.entry("ep") };
		for (const refused of [
			known.remove("ep"),
			known.pause("ep", true),
			known.put(settings("ep", { workersMax: 2 }), 2),
			known.put(settings("new"), 2),
		])
			await expect(refused).rejects.toBeInstanceOf(StoreUnavailable);
		expect(known.entry("ep")).toEqual(before);
		expect([...known.removing()]).toEqual([]);
		expect([...known.all()].map(({ endpoint }) => endpoint.id)).toEqual(["ep"]);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
});

it("D22: a change encrypts the webhook secret with the current key, whatever key it has", async () => {
	const folder = mkdtempSync(join(tmpdir(), "sluice-registry-"));
	const [key, earlier] = [randomBytes(32), randomBytes(32)];
	const before = encryption([earlier], randomBytes);
	const current = encryption([key, earlier], randomBytes);
	const store = await openSqlite({ path: join(folder, "s.db") });
	try {
		await endpointRegistry(store, { encryption: before, random: randomBytes, hooks: {} }).put(settings("ep"), 1);
		const known = endpointRegistry(store, { encryption: current, random: randomBytes, hooks: {} });
		await known.load(() => {});
		const secret = before.decrypt(known.encryptedSecret("ep")!);
		await known.put(settings("ep", { workersMax: 2 }), 2);
		const [row] = await store.endpoints.list();
		// The command that encrypts stored secrets again leaves what a server has changed meanwhile.
		expect(encryption([key], randomBytes).decrypt(row!.secret!)).toEqual(secret);
		expect(known.encryptedSecret("ep")).toBe(row!.secret);
	} finally {
		await store.close();
		rmSync(folder, { recursive: true, force: true });
	}
});

it("an endpoint whose module cannot be opened is read at the next time; the others do not wait for it", async () => {
	const folder = mkdtempSync(join(tmpdir(), "sluice-registry-"));
	const store = await openSqlite({ path: join(folder, "s.db") });
	try {
		const sealed = { encryption: encryption([randomBytes(32)], randomBytes), random: randomBytes };
		const other = endpointRegistry(store, { ...sealed, hooks: {} });
		for (const id of ["a", "b", "c"]) await other.put(settings(id), 1);
		let isBroken = true;
		const openFor = async ({ id }: Endpoint): Promise<void> => {
			if (isBroken && id === "b") throw new Error("its file is missing");
		};
		const known = endpointRegistry(store, { ...sealed, hooks: { openFor } });
		const faults: string[] = [];
		const load = async (): Promise<string[]> => {
			await known.load((id, fault) => faults.push(`${id} ${fault}`));
			return [...known.all()].map(({ endpoint }) => endpoint.id);
		};
		expect(await load()).toEqual(["a", "c"]);
		expect(faults).toEqual(["b a module that it needs cannot be opened: Error: its file is missing"]);
		isBroken = false;
		expect((await load()).toSorted()).toEqual(["a", "b", "c"]);
	} finally {
		await store.close();
		rmSync(folder, { recursive: true, force: true });
	}
});
