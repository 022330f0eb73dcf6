/** Cases: logins to registries of container images (D45). */
import { expect, it } from "vitest";
import type { RegistryRow } from "../../src/kernel/store/contract/access.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

const row = (registry: string, given: Partial<RegistryRow> = {}): RegistryRow => ({
	registry,
	username: "ci",
	password: "sealed",
	updatedAt: T0,
	...given,
});

export function registryCases({ open }: Bed): void {
	it("D45: one login for each registry, until it is removed", () =>
		alone(open, async ({ store: { registries } }) => {
			expect(await registries.list()).toEqual([]);
			await registries.put({ row: row("registry.example.com:5000") });
			await registries.put({ row: row("ghcr.io") });
			const changed = row("ghcr.io", { username: "bot", password: "other", updatedAt: T0 + 1 });
			await registries.put({ row: changed });
			expect(await registries.list()).toEqual([changed, row("registry.example.com:5000")]);
			expect(await registries.remove({ registry: "registry.example.com:5000" })).toBe(true);
			expect(await registries.remove({ registry: "registry.example.com:5000" })).toBe(false);
			expect(await registries.remove({ registry: "odd \u0000" })).toBe(false);
			expect(await registries.list()).toEqual([changed]);
		}));

	it("D22, D45: replace › only the text that it names", () =>
		alone(open, async ({ store: { registries } }) => {
			await registries.put({ row: row("ghcr.io") });
			await registries.put({ row: row("other.example.com") });
			const name = { registry: "ghcr.io", from: "sealed" };
			expect(await registries.replace({ ...name, from: "other", to: "new" })).toBe(false);
			expect(await registries.replace({ ...name, to: "new" })).toBe(true);
			expect(await registries.replace({ ...name, to: "newer" })).toBe(false);
			expect(await registries.list()).toEqual([row("ghcr.io", { password: "new" }), row("other.example.com")]);
		}));
}
