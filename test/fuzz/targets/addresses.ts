/** Addresses and URLs of webhooks, against the ranges as numbers. */
import { isIPv4 } from "node:net";
import fc from "fast-check";
import { notPublic } from "../../../src/kernel/post/address.ts";
import { targetOf } from "../../../src/kernel/post/target.ts";
import { natural, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

/** What must never be called, of the special-purpose registries of the IANA: the first bits in hex, and how many. */
const SPECIAL_IPV4 =
	"00000000/8 0a000000/8 64400000/10 7f000000/8 a83f8110/32 a9fe0000/16 ac100000/12 c0000000/24 c0000200/24 " +
	"c0586300/24 c0a80000/16 c6120000/15 c6336400/24 cb007100/24 e0000000/3";
const SPECIAL_IPV6 = "0000/3 4000/2 8000/1 20010000/23 20010db8/32 2002/16 3fff0000/20";

/** Whether the bits, given in hex, begin with those of a range. */
function within(hex: string, ranges: string): boolean {
	return ranges.split(" ").some((range) => {
		const [head = "", bits] = range.split("/");
		const unused = BigInt(4 * head.length - Number(bits));
		return BigInt(`0x${hex.slice(0, head.length)}`) >> unused === BigInt(`0x${head}`) >> unused;
	});
}

const hexOf = (groups: readonly number[]): string => groups.map((each) => each.toString(16).padStart(4, "0")).join("");

const isPublicIpv4 = (groups: readonly number[]): boolean => !within(hexOf(groups.slice(6)), SPECIAL_IPV4);

/** Whether it is public; an IPv4 address inside decides for those that wrap one. */
function isPublic(groups: readonly number[]): boolean {
	const wraps = ["0,0,0,0,0,65535", "100,65435,0,0,0,0"].includes(groups.slice(0, 6).join());
	return wraps ? isPublicIpv4(groups) : !within(hexOf(groups), SPECIAL_IPV6);
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
	const at = groups.findIndex((group, index) => group === 0 && groups[index + 1] === 0 && index + 1 < (mixed ? 6 : 8));
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
	sources: ["kernel/post/address.ts"],
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
			fc.constantFrom("127.1", "0x7f.1", "010.0.0.1", "::1%eth0", "[::1]", "1.2.3.4.5", "::ffff:1.2.3"),
		),
	}),
	check({ groups: any, style, text }) {
		const groups = Array.from({ length: 8 }, (_, at) => natural(any[at] ?? 0) % 65_536);
		const address = written(groups, natural(style));
		same(address, notPublic(address) === undefined, isPublic(groups));
		const four = dotted(groups);
		same(four, notPublic(four) === undefined, isPublicIpv4(groups));
		if (notPublic(text) !== undefined) return;
		must(URL.canParse(isIPv4(text) ? `http://${text}` : `http://[${text}]`), `${text} is no address`);
	},
});

export const WEBHOOK_URL = target({
	name: "webhook-url",
	sources: ["kernel/post/target.ts"],
	cases: fc.record({
		url: fc.oneof(
			fc
				.tuple(
					fc.constantFrom("http://", "https://", "HTTP:", "http:\\\\", "ftp://", "//", " http://", "javascript:"),
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
		answers: fc.array(fc.constantFrom("8.8.8.8", "127.0.0.1", "::1", "10.0.0.1", "2606:4700::1", "169.254.169.254"), {
			maxLength: 3,
		}),
	}),
	async check({ url, answers }) {
		const resolve = async () => answers.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
		const found = await targetOf(url, { allowPrivateNetworks: false, resolve });
		if (!found.ok) return must(/^not sent: \S/.test(found.refusal), found.refusal);
		must(notPublic(found.address.address) === undefined, `calls ${found.address.address}`);
		must(/^https?:$/.test(found.url.protocol) && found.url.username + found.url.password === "", found.url.href);
	},
});
