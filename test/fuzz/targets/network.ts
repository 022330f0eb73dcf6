/** Addresses of webhooks, routes, queries, cursors, origins and sessions: what callers forge. */
import { BlockList, isIPv4 } from "node:net";
import fc from "fast-check";
import { OPERATIONS } from "../../../src/api/operations.ts";
import type { Param } from "../../../src/api/params.ts";
import { sessions } from "../../../src/engine/access/sessions.ts";
import { placeOf, sourceOf } from "../../../src/http/console/origin.ts";
import { matcher } from "../../../src/http/match.ts";
import { cursorOf, numberOf } from "../../../src/store/cursor.ts";
import { notPublic } from "../../../src/webhooks/address.ts";
import { targetOf } from "../../../src/webhooks/target.ts";
import { oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

/** What must never be called: the special-purpose registries of the IANA, as Node's own list. */
const special = new BlockList();
const special6 = new BlockList();
for (const range of [
	"0.0.0.0/8|10.0.0.0/8|100.64.0.0/10|127.0.0.0/8|169.254.0.0/16|172.16.0.0/12|192.0.0.0/24",
	"192.0.2.0/24|192.88.99.0/24|192.168.0.0/16|198.18.0.0/15|198.51.100.0/24|203.0.113.0/24|224.0.0.0/3",
].flatMap((line) => line.split("|")))
	special.addSubnet(range.split("/")[0]!, Number(range.split("/")[1]), "ipv4");
for (const range of "::/3|4000::/2|8000::/1|2001::/23|2001:db8::/32|2002::/16|3fff::/20".split("|"))
	special6.addSubnet(range.split("/")[0]!, Number(range.split("/")[1]), "ipv6");

/** Whether it is public, by Node's list; an IPv4 address inside decides for those that wrap one. */
function isPublic(groups: readonly number[]): boolean {
	const wraps = ["0,0,0,0,0,65535", "100,65435,0,0,0,0"].includes(groups.slice(0, 6).join());
	if (wraps) return !special.check(dotted(groups), "ipv4");
	return !special6.check(groups.map((group) => group.toString(16)).join(":"), "ipv6");
}

const dotted = (groups: readonly number[]): string =>
	groups
		.slice(6)
		.flatMap((group) => [group >> 8, group & 255])
		.join(".");

/** One of the ways to write the address. */
function written(groups: readonly number[], style: number): string {
	const [upper, padded, mixed] = [style & 1, style & 2, style & 4];
	const texts = groups.map((group) => {
		const hex = padded ? group.toString(16).padStart(4, "0") : group.toString(16);
		return upper ? hex.toUpperCase() : hex;
	});
	const parts = mixed ? [...texts.slice(0, 6), dotted(groups)] : texts;
	if (!(style & 8)) return parts.join(":");
	const at = groups.findIndex(
		(group, index) => group === 0 && groups[index + 1] === 0 && index + 1 < (mixed ? 6 : 8),
	);
	if (at < 0) return parts.join(":");
	let end = at;
	while (groups[end] === 0 && end < (mixed ? 6 : 8)) end += 1;
	return `${parts.slice(0, at).join(":")}::${parts.slice(end).join(":")}`;
}

const group = fc.oneof(
	fc.nat(65_535),
	fc.constantFrom(
		0,
		0,
		0,
		1,
		65_535,
		0x64,
		0xff9b,
		0x2001,
		0x2002,
		0x3fff,
		0xfe80,
		0xfc00,
		0x7f00,
		0xa00,
		0xa9fe,
		0xc0a8,
		0xac10,
	),
);

export const ADDRESS = target({
	name: "webhook-address",
	sources: ["webhooks/address.ts"],
	cases: fc.record({
		groups: fc.oneof(
			fc.array(group, { minLength: 8, maxLength: 8 }),
			fc
				.tuple(fc.constantFrom([0, 0, 0, 0, 0, 65_535], [0x64, 0xff9b, 0, 0, 0, 0]), group, group)
				.map(([head, a, b]) => [...head, a, b]),
		),
		style: fc.nat(15),
		text: fc.oneof(
			oddText,
			fc.constantFrom(
				"127.1",
				"0x7f.1",
				"010.0.0.1",
				"::1%eth0",
				"[::1]",
				"1.2.3.4.5",
				"::ffff:1.2.3",
			),
		),
	}),
	check({ groups: any, style, text }) {
		const groups = Array.from(
			{ length: 8 },
			(_, at) => Math.abs(Math.trunc(any[at] ?? 0)) % 65_536,
		);
		const address = written(groups, Math.abs(Math.trunc(style)));
		same(address, notPublic(address) === undefined, isPublic(groups));
		const four = dotted(groups);
		same(four, notPublic(four) === undefined, !special.check(four, "ipv4"));
		if (notPublic(text) !== undefined) return;
		must(
			URL.canParse(isIPv4(text) ? `http://${text}` : `http://[${text}]`),
			`${text} is no address`,
		);
	},
});

export const WEBHOOK_URL = target({
	name: "webhook-url",
	sources: ["webhooks/target.ts"],
	cases: fc.record({
		url: fc.oneof(
			fc
				.tuple(
					fc.constantFrom(
						"http://",
						"https://",
						"HTTP:",
						"http:\\\\",
						"ftp://",
						"//",
						" http://",
						"javascript:",
					),
					fc.constantFrom("", "", "u:p@", "@", "%40@", "a@b@"),
					fc.constantFrom(
						"127.1",
						"0x7f000001",
						"2130706433",
						"[::ffff:7f00:1]",
						"localhost",
						"LOCALHOST.",
						"a.localhost",
						"①②⑦.0.0.1",
						"127。0。0。1",
						"8.8.8.8",
						"a.test",
						"[64:ff9b::a00:1]",
						"10.1",
					),
					fc.constantFrom("", ":80", ":99999", "/x?y#z", "\\..", "\t"),
				)
				.map((parts) => parts.join("")),
			oddText,
		),
		answers: fc.array(
			fc.constantFrom("8.8.8.8", "127.0.0.1", "::1", "10.0.0.1", "2606:4700::1", "169.254.169.254"),
			{ maxLength: 3 },
		),
	}),
	async check({ url, answers }) {
		const resolve = async () =>
			answers.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
		const found = await targetOf(url, { allowPrivateNetworks: false, resolve });
		if (!found.ok) return must(/^not sent: \S/.test(found.refusal), found.refusal);
		must(notPublic(found.address.address) === undefined, `calls ${found.address.address}`);
		must(
			/^https?:$/.test(found.url.protocol) && found.url.username + found.url.password === "",
			found.url.href,
		);
	},
});

const match = matcher(OPERATIONS);
const segments = [...new Set(OPERATIONS.flatMap(({ path }) => path.split("/")))].filter(
	(each) => !/^[:*]/.test(each),
);

/** All that fit, segment by segment; the one with the most fixed segments from the left wins. */
function naive(path: string): { path: string; params: Record<string, string> } | undefined {
	const parts = path.split("/").slice(1);
	const found = OPERATIONS.flatMap((route) => {
		const names = route.path.split("/").slice(1);
		const tail = names.at(-1) === "*";
		if (
			!path.startsWith("/") ||
			(tail ? parts.length < names.length : parts.length !== names.length)
		)
			return [];
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
		const rank = names
			.map((name) => (name === "*" ? "0" : name.startsWith(":") ? "1" : "2"))
			.join("");
		return [{ path: route.path, params, rank }];
	});
	const [best] = found.toSorted((one, other) => (one.rank < other.rank ? 1 : -1));
	return best && { path: best.path, params: best.params };
}

export const ROUTE_MATCH = target({
	name: "route-match",
	sources: ["http/match.ts"],
	cases: fc.oneof(
		fc.constantFrom(...OPERATIONS).chain(({ path }) =>
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
		fc
			.array(fc.oneof(fc.constantFrom(...segments), oddText), { maxLength: 6 })
			.map((parts) => `/${parts.join("/")}`),
	),
	check(path) {
		const found = match(path);
		const expected = naive(path);
		const [route] = found ? found.byMethod.values() : [];
		same("route", route?.path, expected?.path);
		if (found && expected)
			same(
				"parameters",
				Object.entries(found.params)
					.filter(([, text]) => text !== "")
					.toSorted(),
				Object.entries(expected.params).toSorted(),
			);
	},
});

function encodeURIComponentSafely(text: string): string {
	return encodeURIComponent(text.toWellFormed());
}

const PARAMS = OPERATIONS.flatMap(({ query = [] }) => query).filter(
	(param): param is Param<unknown> => "read" in param,
);

export const QUERY = target({
	name: "queries-and-cursors",
	sources: ["api/params.ts", "store/cursor.ts"],
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
		const param = PARAMS[Math.abs(Math.trunc(index)) % PARAMS.length]!;
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
	} as any,
	publicUrl: new URL("https://sluice.test/base"),
});

export const ORIGIN = target({
	name: "origins",
	sources: ["http/console/origin.ts"],
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
			page.origin === "https://sluice.test" ||
				page.host === new URL(`${page.protocol}//${host ?? ""}`).host,
			`own: ${origin} at ${host}`,
		);
	},
});

const now = 1_800_000_000_000;
const access = sessions({
	now: () => now,
	sealKey: new Uint8Array(32),
	keys: { holder: async (id) => ({ principal: { id } as any, hash: Buffer.from(id) }) as any },
});

export const SESSION = target({
	name: "session-tokens",
	sources: ["engine/access/sessions.ts"],
	turn: 1000,
	cases: fc.record({
		key: fc.constantFrom("a", "b"),
		at: fc.nat(400),
		mark: fc.oneof(fc.constantFrom("", ".", "A", "="), oddText),
		removed: fc.nat(3),
	}),
	async check({ key, at, mark, removed }) {
		const { token } = (await access.begin({ keyId: key, place: { path: "/", secure: false } }))!;
		must((await access.resume(token)) !== undefined, "its own token is refused");
		const where = Math.abs(Math.trunc(at)) % (token.length + 1);
		const forged =
			token.slice(0, where) + mark + token.slice(where + Math.abs(Math.trunc(removed)));
		const resumed = await access.resume(forged);
		// Base64 has unused bits at its end: only the signed text decides.
		must(
			resumed === undefined || forged.split(".")[0] === token.split(".")[0],
			`forged: ${forged}`,
		);
		must((await access.resume(mark)) === undefined, `forged: ${mark}`);
	},
});
