/** What the setting http is refused for, by the launcher of its endpoint. */
import { expect, it } from "vitest";
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import { isManaged, LAUNCHERS } from "../../kernel/launchers/index.ts";
import { HTTP } from "./member.ts";

const faultsOf = (type: string, http: object): string[] =>
	HTTP.faults(http as Record<string, unknown>, { launcher: { type } } as Endpoint).map(
		({ field, message }) => `${field} ${message}`,
	);

const able = LAUNCHERS.filter(({ adapts, managed }) => adapts || !managed);
const typesWith = (kind: "child" | "container"): string[] =>
	LAUNCHERS.filter(({ adapts }) => adapts === kind).map(({ type }) => type);

it("D35: workers of another launcher take jobs themselves", () => {
	const [fault] = faultsOf("pretend", { port: 1 });
	expect(fault).toMatch(/^http is for the launchers .* and external; workers of pretend take jobs themselves\.$/);
	for (const { type } of able) expect(fault, type).toContain(type);
});

it.each(typesWith("container"))("D35: a server in a container of %s has the port of its program", (type) => {
	expect(faultsOf(type, { port: 0 })).toEqual([expect.stringMatching(/^http\.port .*such as http\.port: 8000\.$/)]);
	expect(faultsOf(type, { socket: "/tmp/a" })).toEqual([expect.stringMatching(/^http\.socket .*http\.port: 8000\.$/)]);
	expect(faultsOf(type, { port: 8000 })).toEqual([]);
});

it.each(typesWith("child"))("D35: a server that an adapter of %s starts may have any port or a socket", (type) => {
	for (const http of [{ port: 0 }, { socket: "/tmp/a" }, { port: 8000 }]) expect(faultsOf(type, http)).toEqual([]);
});

it.each(able.map(({ type }) => type))("D35: only %s that starts no server takes an address of one", (type) => {
	const faults = faultsOf(type, { url: "https://models.example.com/a" });
	expect(faults).toEqual(isManaged(type) ? [expect.stringMatching(/^http\.url is for the launcher external: /)] : []);
});
