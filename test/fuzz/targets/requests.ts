/** Routes, queries, cursors, origins and names of browsers: what callers forge. */
import fc from "fast-check";
import { ROUTES } from "../../../src/modules/tables.ts";
import type { Param } from "../../../src/kernel/api/definition/params.ts";
import { placeOf, sourceOf } from "../../../src/modules/console/origin.ts";
import { clientOf } from "../../../src/modules/console/user-agent.ts";
import { matcher } from "../../../src/kernel/http/server/match.ts";
import { cursorOf, numberOf } from "../../../src/kernel/store/cursor.ts";
import { natural, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const match = matcher(ROUTES);
const segments = [...new Set(ROUTES.flatMap(({ path }) => path.split("/")))].filter((each) => !/^[:*]/.test(each));

/** All that fit, segment by segment; the one with the most fixed segments from the left wins. */
function naive(path: string): { path: string; params: Record<string, string> } | undefined {
	const parts = path.split("/").slice(1);
	const found = ROUTES.flatMap((route) => {
		const names = route.path.split("/").slice(1);
		const tail = names.at(-1) === "*";
		if (!path.startsWith("/") || (tail ? parts.length < names.length : parts.length !== names.length)) return [];
		const params: Record<string, string> = {};
		for (const [at, name] of names.entries()) {
			const part = tail && at === names.length - 1 ? parts.slice(at).join("/") : parts[at]!;
			if (!/^[:*]/.test(name)) {
				if (part !== name) return [];
			} else {
				if (parts[at] === "") return [];
				try {
					params[name === "*" ? "rest" : name.slice(1)] = decodeURIComponent(part);
				} catch {
					return [];
				}
			}
		}
		const rank = names.map((name) => (name === "*" ? "0" : name.startsWith(":") ? "1" : "2")).join("");
		return [{ path: route.path, params, rank }];
	});
	const [best] = found.toSorted((one, other) => (one.rank < other.rank ? 1 : -1));
	return best && { path: best.path, params: best.params };
}

export const ROUTE_MATCH = target({
	name: "route-match",
	sources: ["kernel/http/server/match.ts"],
	cases: fc.oneof(
		fc.constantFrom(...ROUTES).chain(({ path }) =>
			fc
				.array(
					fc.oneof(
						{ weight: 3, arbitrary: fc.constant("x") },
						oddText.map(encodeURIComponentSafely),
						fc.constantFrom(...segments),
					),
					{ minLength: 4, maxLength: 4 },
				)
				.map((values) => {
					let at = 0;
					return path.replace(/:\w+|\*/g, () => values[at++ % 4]!);
				}),
		),
		fc.array(fc.oneof(fc.constantFrom(...segments), oddText), { maxLength: 6 }).map((parts) => `/${parts.join("/")}`),
	),
	check(path) {
		const found = match(path);
		const expected = naive(path);
		const [route] = found ? found.byMethod.values() : [];
		same("route", route?.path, expected?.path);
		if (found && expected)
			for (const [name, value] of Object.entries(found.params)) same(name, value, expected.params[name] ?? "");
	},
});

function encodeURIComponentSafely(text: string): string {
	return encodeURIComponent(text.toWellFormed());
}

const PARAMS = ROUTES.flatMap(({ query = [] }) => query).filter((param): param is Param<unknown> => "read" in param);

export const QUERY = target({
	name: "queries-and-cursors",
	sources: ["kernel/api/definition/params.ts", "kernel/store/cursor.ts"],
	cases: fc.record({
		param: fc.nat(PARAMS.length - 1),
		text: fc.oneof(
			oddText,
			fc.constantFrom(
				"n1",
				"n0",
				"n-1",
				"n1e3",
				"n999999999999999",
				"n9999999999999999",
				"N1",
				"n1 ",
				"0",
				"00001",
				"1e3",
				"-1",
				"+1",
				"0x10",
				"99999999999999999999",
				"2026-01-31T12:00Z",
				"2026-13-41T99:99:99Z",
				"COMPLETED,",
				",",
				"1.5",
			),
		),
	}),
	check({ param: index, text }) {
		const param = PARAMS[natural(index) % PARAMS.length]!;
		const value = param.read(text);
		if (typeof value === "number") {
			must(Number.isFinite(value), `${param.name}: ${text} is ${value}`);
			const { minimum = -Infinity, maximum = Infinity } = param.schema as {
				minimum?: number;
				maximum?: number;
			};
			must(value >= minimum && value <= maximum, `${param.name}: ${text} is ${value}`);
		}
		try {
			const row = numberOf(text)!;
			must(Number.isSafeInteger(row) && row > 0, `row ${row}`);
			same("cursor", cursorOf(row), text);
		} catch (error) {
			if (!(error instanceof RangeError)) throw error;
		}
	},
});

const header = fc.oneof(
	oddText,
	fc.constantFrom(
		"https://sluice.test",
		"https://sluice.test:443",
		"http://127.0.0.1:8080",
		"null",
		"sluice.test",
		"127.0.0.1:8080",
		"same-origin",
		"same-site",
		"none",
		"https://sluice.test.evil.test",
		"http://[::1]",
		"127.0.0.1:8080/x",
		"u@127.0.0.1:8080",
	),
);
const asRequest = (headers: Record<string, string | null>): Parameters<typeof sourceOf>[0] => ({
	req: {
		headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)),
		socket: {},
	} as any,
	service: { publicUrl: new URL("https://sluice.test/base") } as any,
});

export const ORIGIN = target({
	name: "origins",
	sources: ["modules/console/origin.ts"],
	cases: fc.record({
		origin: fc.option(header),
		host: fc.option(header),
		"sec-fetch-site": fc.option(header),
	}),
	check(headers) {
		const request = asRequest(headers);
		const source = sourceOf(request);
		const place = placeOf(request);
		must(place.path.startsWith("/") && !/[;\s]/.test(place.path), `path ${place.path}`);
		const { origin, host, "sec-fetch-site": site } = headers;
		if (site === "cross-site" || site === "same-site") same("source", source, "foreign");
		if (source !== "own" || origin === null) return;
		const page = new URL(origin);
		must(
			page.origin === "https://sluice.test" || page.host === new URL(`${page.protocol}//${host ?? ""}`).host,
			`own: ${origin} at ${host}`,
		);
	},
});

export const USER_AGENT = target({
	name: "user-agents",
	sources: ["modules/console/user-agent.ts"],
	turn: 1000,
	cases: fc.array(
		fc.oneof(fc.constantFrom("Mozilla/5.0", "Chrome/", "140.0", "Version/26", " Safari/", "(X11; Linux"), oddText),
		{ maxLength: 8 },
	),
	check(parts) {
		const userAgent = parts.map(String).join("");
		const name = clientOf(userAgent);
		must(/^[\x20-\x7e]{0,60}$/.test(name), `name: ${JSON.stringify(name)}`);
	},
});
