/** Finding the row of a path. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matcher } from "./match.ts";
import type { RouteDefinition } from "../../api/definition/route.ts";
import { ROUTES } from "../../../modules/tables.ts";

type Row = Pick<RouteDefinition, "methods" | "path" | "access">;

function row(methods: Row["methods"], path: string, access: Row["access"] = "read"): Row {
	return { methods, path, access };
}

const TABLE = [
	row(["POST"], "/v2/:endpoint/run"),
	row(["GET", "POST"], "/v2/:endpoint/status/:job"),
	row(["GET"], "/v2/:endpoint/stream/:job"),
	row(["POST"], "/v2/:endpoint/stream/:job"),
	row(["GET"], "/v2/list/all"),
	row(["GET"], "/w/:endpoint/:worker/:job", "worker"),
];
TABLE.push(row(["POST"], "/v2/:endpoint/openai/*"));
const match = matcher(TABLE);
describe("matcher", () => {
	it("finds the row of a path by method, with its parameters", () => {
		const found = match("/v2/ep/status/j-1");
		expect([...found!.byMethod]).toEqual([
			["GET", TABLE[1]],
			["HEAD", TABLE[1]],
			["POST", TABLE[1]],
		]);
		expect(found!.params).toEqual({ endpoint: "ep", job: "j-1" });
		expect(match("/w/a/b/c")?.params).toEqual({ endpoint: "a", worker: "b", job: "c" });
	});

	it("D1: HEAD goes with GET, but of workers, whose GET takes a job", () => {
		expect(match("/v2/list/all")!.byMethod.get("HEAD")).toBe(TABLE[4]);
		expect([...match("/w/a/b/c")!.byMethod.keys()]).toEqual(["GET"]);
	});

	it("a path below a fixed segment that no row has is the rest of the * next to it", () => {
		const files = matcher([row(["GET"], "/files/*"), row(["GET"], "/files/list")]);
		expect(files("/files/list")!.params).toEqual({});
		for (const rest of ["list/", "list/a", "lists", "a/list"])
			expect(files(`/files/${rest}`)!.params).toEqual({ rest });
		expect(files("/files/")).toBeUndefined();
	});

	it("rows of one path stand together", () => {
		expect([...match("/v2/ep/stream/j")!.byMethod.keys()]).toEqual(["GET", "HEAD", "POST"]);
	});

	it.each([
		"",
		"/",
		"/v2",
		"/v2/",
		"/v2/ep",
		"/v2/ep/",
		"/v2/ep/run/",
		"/v2/ep/run/more",
		"/v2//run",
		"//v2/ep/run",
		"/v2/ep/status",
		"/v2/ep/status/",
		"/V2/ep/run",
		"/v2/ep/RUN",
		"/v2/ep/run%2F",
		"v2/ep/run",
		"*",
		"*v2/ep/run",
		"http://h/v2/ep/run",
	])("%j is the path of no row", (path) => {
		expect(match(path)).toBeUndefined();
	});

	it("a fixed segment is taken before a parameter", () => {
		expect(match("/v2/list/all")?.params).toEqual({});
	});

	it("parameters are decoded, each on its own, so that an encoded slash stays in its segment", () => {
		expect(match("/v2/a%2Fb/status/%C3%A9%20%25")?.params).toMatchObject({
			endpoint: "a/b",
			job: "é %",
		});
		expect(match("/v2/ep/status/..")?.params.job).toBe("..");
		expect(match("/v2/ep/status/%00")?.params.job).toBe("\0");
	});

	it.each(["/v2/ep/status/%", "/v2/ep/status/%zz", "/v2/%C3/run", "/v2/ep/status/%ff"])(
		"a bad escape in %s is the path of no row",
		(path) => {
			expect(match(path)).toBeUndefined();
		},
	);

	it("a star takes the rest of the path, decoded, but not nothing", () => {
		expect(match("/v2/ep/openai/v1/chat/completions")?.params).toEqual({
			endpoint: "ep",
			rest: "v1/chat/completions",
		});
		expect(match("/v2/ep/openai/a%20b/")?.params.rest).toBe("a b/");
		for (const path of ["/v2/ep/openai", "/v2/ep/openai/", "/v2/ep/openai//v1", "/v2/ep/openai/%zz"])
			expect(match(path), path).toBeUndefined();
	});

	it("names of object members are ordinary segments", () => {
		for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
			expect(match(`/${name}`)).toBeUndefined();
			expect(match(`/v2/${name}/status/${name}`)?.params).toEqual({
				endpoint: name,
				job: name,
			});
		}
	});

	it("every row of the real table is found under its own path, with what was put in", () => {
		const find = matcher(ROUTES);
		const value = fc
			.string({ minLength: 1, maxLength: 20, unit: "binary" })
			.filter((text) => text.isWellFormed() && text !== "." && text !== "..");
		fc.assert(
			fc.property(fc.constantFrom(...ROUTES), value, value, value, (route, endpoint, job, worker) => {
				const given: Record<string, string> = {
					endpoint,
					job,
					worker,
					delivery: job,
					file: job,
					batch: job,
					response: job,
					video: job,
					character: job,
					receiver: job,
					key: job,
					session: job,
					registry: job,
					host: job,
					alert: job,
					version: job,
					template: job,
					volume: job,
					login: job,
					secret: job,
					id: job,
					token: job,
				};
				const found = find(
					route.path.replace("*", "v1/x").replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(given[name]!)),
				);
				for (const method of route.methods) expect(found?.byMethod.get(method)).toBe(route);
				for (const [, name] of route.path.matchAll(/:(\w+)/g)) expect(found?.params[name as "job"]).toBe(given[name!]);
			}),
		);
	});
});
