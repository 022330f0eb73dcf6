/** Which addresses are public, and where a URL leads, in every spelling (D21). */
import { describe, expect, it } from "vitest";
import { notPublic } from "./address.ts";
import { type Address, targetOf, addressFault } from "./target.ts";

describe("addresses", () => {
	it.each([
		"1.1.1.1",
		"8.8.8.8",
		"9.255.255.255",
		"11.0.0.0",
		"100.63.255.255",
		"100.128.0.0",
		"126.255.255.255",
		"128.0.0.1",
		"169.253.255.255",
		"169.255.0.0",
		"172.15.255.255",
		"172.32.0.0",
		"192.0.1.0",
		"192.0.3.0",
		"192.167.255.255",
		"192.169.0.0",
		"198.17.255.255",
		"198.20.0.0",
		"203.0.112.255",
		"203.0.114.0",
		"223.255.255.255",
		"2606:4700:4700::1111",
		"2001:200::1",
		"2001:4860:4860::8888",
		"2a00::1",
		"2003::1",
		"3ffe::1",
		"::ffff:8.8.8.8",
		"::ffff:808:808",
		"64:ff9b::8.8.8.8",
		"64:ff9b::808:808",
	])("D21: %s is public", (address) => {
		expect(notPublic(address)).toBeUndefined();
	});

	it.each([
		["0.0.0.0", "unspecified"],
		["0.1.2.3", "unspecified"],
		["10.0.0.0", "private"],
		["10.255.255.255", "private"],
		["100.64.0.0", "carrier-private"],
		["100.100.100.200", "carrier-private"],
		["100.127.255.255", "carrier-private"],
		["127.0.0.1", "loopback"],
		["127.255.255.254", "loopback"],
		["168.63.129.16", "cloud-metadata"],
		["::ffff:168.63.129.16", "cloud-metadata"],
		["64:ff9b::a83f:8110", "cloud-metadata"],
		["169.254.0.0", "link-local"],
		["169.254.169.254", "link-local"],
		["172.16.0.0", "private"],
		["172.31.255.255", "private"],
		["192.0.0.0", "reserved"],
		["192.0.0.192", "reserved"],
		["192.0.2.1", "documentation"],
		["192.88.99.1", "reserved"],
		["192.168.0.0", "private"],
		["192.168.255.255", "private"],
		["198.18.0.0", "benchmarking"],
		["198.19.255.255", "benchmarking"],
		["198.51.100.7", "documentation"],
		["203.0.113.7", "documentation"],
		["224.0.0.1", "multicast"],
		["239.255.255.255", "multicast"],
		["240.0.0.1", "reserved"],
		["255.255.255.254", "reserved"],
		["255.255.255.255", "broadcast"],
		["::", "unspecified"],
		["::1", "loopback"],
		["0:0:0:0:0:0:0:1", "loopback"],
		["::2", "reserved"],
		["::127.0.0.1", "reserved"],
		["::8.8.8.8", "reserved"],
		["100::1", "reserved"],
		["5f00::1", "reserved"],
		["4000::1", "reserved"],
		["fc00::1", "private"],
		["fd00:ec2::254", "private"],
		["fdff:ffff::", "private"],
		["fe80::1", "link-local"],
		["febf::1", "link-local"],
		["fe80::1%eth0", "link-local"],
		["2606:4700::1%1", "link-local"],
		["fec0::1", "private"],
		["ff02::1", "multicast"],
		["ff0e::1", "multicast"],
		["2001:db8::1", "documentation"],
		["3fff::1", "documentation"],
		["3fff:fff::1", "documentation"],
		["2001:10::1", "reserved"],
		["2001:2::1", "reserved"],
		["2001::1", "Teredo"],
		["2001:0:7f00:1::f5ff:fffe", "Teredo"],
		["2002:7f00:1::", "6to4"],
		["2002:808:808::1", "6to4"],
		["::ffff:127.0.0.1", "loopback"],
		["::ffff:7f00:1", "loopback"],
		["::ffff:a00:1", "private"],
		["::FFFF:169.254.169.254", "link-local"],
		["0:0:0:0:0:ffff:c0a8:1", "private"],
		["::ffff:0:127.0.0.1", "reserved"],
		["64:ff9b::127.0.0.1", "loopback"],
		["64:ff9b::a9fe:a9fe", "link-local"],
		["64:ff9b::10.1.2.3", "private"],
		["64:ff9b:1::8.8.8.8", "reserved"],
		["localhost", "unknown"],
		["127.1", "unknown"],
		["0177.0.0.1", "unknown"],
		["", "unknown"],
	])("D21: %s is not public (%s)", (address, kind) => {
		expect(notPublic(address)).toMatch(new RegExp(`^an? ${kind}$`));
	});
});

describe("targets", () => {
	const never = (host: string): Promise<Address[]> => Promise.reject(new Error(`${host} was looked up`));
	const at =
		(...addresses: string[]) =>
		async (): Promise<Address[]> =>
			addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

	it.each([
		"http://127.0.0.1/",
		"http://127.1/",
		"http://127.0.0.1./",
		"http://0x7f.1/",
		"http://0x7f000001/",
		"http://2130706433/",
		"http://0177.0.0.1/",
		"http://0177.1/",
		"http://127.0.0.1:6379/",
		"https://127.0.0.1/",
		"http://１２７.0.0.1/",
		"http://127。0。0。1/",
		"http://%31%32%37.0.0.1/",
		"http://0/",
		"http://0.0.0.0/",
		"http://[::]/",
		"http://[::1]/",
		"http://[0:0:0:0:0:0:0:1]/",
		"http://[::ffff:127.0.0.1]/",
		"http://[::ffff:7f00:1]/",
		"http://[::127.0.0.1]/",
		"http://[64:ff9b::7f00:1]/",
		"http://[2002:7f00:1::]/",
		"http://[fe80::1]/",
		"http://[fd00:ec2::254]/latest/meta-data",
		"http://169.254.169.254/latest/meta-data",
		"http://2852039166/",
		"http://0xa9.0xfe.0xa9.0xfe/",
		"http://localhost/",
		"http://LOCALHOST:8080/",
		"http://localhost./",
		"http://ⓛocalhost/",
		"http://a.localhost/",
		"http://a.b.localhost./",
		"http://10.0.0.1/",
		"http://192.168.1.1/",
		"http://255.255.255.255/",
		"http://user:%ff@1.1.1.1/",
		"http://1.1.1.1@127.0.0.1/",
		"http://1.1.1.1#@127.0.0.1/".replace("#", "%23"),
		"http://[fe80::1%25eth0]/",
		"http://256.256.256.256/",
		"http://1.1.1.1:99999/",
		"ftp://1.1.1.1/",
		"file:///etc/passwd",
		"gopher://1.1.1.1/",
		"data:,x",
		"//1.1.1.1/",
		"",
		"no url",
	])("D21: %s is refused without being looked up", async (url) => {
		expect(await targetOf(url, { allowPrivateNetworks: false, resolve: never })).toMatchObject({
			ok: false,
			refusal: expect.stringMatching(/^not sent: ./),
		});
	});

	it.each([
		["http://user@1.1.1.1/", "user:"],
		["http://user:word@1.1.1.1/", "user:word"],
		["http://:word@1.1.1.1/", ":word"],
		["http://%C3%BC:w%3Ard%40@1.1.1.1/x?y", "ü:w:rd@"],
	])("D21: user and password of %s are sent as Basic, and are not in what is called", async (text, pair) => {
		const target = await targetOf(text, { allowPrivateNetworks: false, resolve: never });
		if (!target.ok) throw new Error(target.refusal);
		expect(target.authorization).toBe(`Basic ${Buffer.from(pair).toString("base64")}`);
		expect(target.url.href).toBe(text.replace(/\/\/.*@/, "//"));
	});

	it.each([
		["https://TOKEN@1.1.1.1/", ["TOKEN"], []],
		["https://a%2Btoken@1.1.1.1/", ["a%2Btoken", "a+token"], []],
		["https://a-long-token:x-oauth-basic@1.1.1.1/", ["a-long-token", "x-oauth-basic"], []],
		["https://user:pass%3Aword@1.1.1.1/", ["pass%3Aword", "pass:word"], ["user"]],
	])("D21: of %s no receiver may make us show what may be a secret, the user too", async (text, secret, open) => {
		const target = await targetOf(text, { allowPrivateNetworks: false, resolve: never });
		if (!target.ok) throw new Error(target.refusal);
		expect(target.secrets).toEqual(expect.arrayContaining(secret));
		for (const each of open) expect(target.secrets).not.toContain(each);
	});

	it("D21: what the text alone decides is known without DNS; a name is not", () => {
		for (const text of ["http://10.0.0.1/", "http://localhost/", "http://[::1]/", "http://0x7f.1/", "ftp://a.example/"])
			expect(addressFault(text, false), text).toMatch(/./);
		for (const text of ["http://a.example/", "http://u:p@1.1.1.1/"]) expect(addressFault(text, false)).toBeUndefined();
		expect(addressFault("http://10.0.0.1/", true)).toBeUndefined();
		expect(addressFault("http://u:%ff@10.0.0.1/", true)).toContain("percent-encoding");
	});

	it.each([
		["http://1.1.1.1/", "1.1.1.1", 4],
		["http://0x01010101/", "1.1.1.1", 4],
		["https://[2606:4700:4700::1111]:8443/hook?x=1", "2606:4700:4700::1111", 6],
		["http://[::ffff:8.8.8.8]/", "::ffff:808:808", 6],
	])("D21: %s goes to %s", async (url, address, family) => {
		expect(await targetOf(url, { allowPrivateNetworks: false, resolve: never })).toMatchObject({
			ok: true,
			address: { address, family },
		});
	});

	it("D21: a name is refused when all its addresses are private; of a mix the first public one is called", async () => {
		const target = (...addresses: string[]) =>
			targetOf("https://hook.example/x?token=abc", {
				allowPrivateNetworks: false,
				resolve: at(...addresses),
			});
		expect(await target("10.0.0.7")).toEqual({
			ok: false,
			refusal: expect.stringMatching(
				/^not sent: hook\.example is at a private address; webhooks\.allowPrivateNetworks/,
			),
		});
		expect(await target("169.254.169.254", "::1")).toMatchObject({ ok: false });
		expect(await target("fe80::1%eth0")).toMatchObject({ ok: false });
		expect(await target("127.0.0.1", "1.1.1.1", "8.8.8.8")).toMatchObject({
			ok: true,
			address: { address: "1.1.1.1" },
		});
		expect(await target()).toMatchObject({ ok: false });
	});

	it("D21: private networks allowed: the first address is called; schemes stay refused", async () => {
		const target = (url: string) => targetOf(url, { allowPrivateNetworks: true, resolve: at("10.0.0.7", "1.1.1.1") });
		expect(await target("http://hook.internal/")).toMatchObject({
			ok: true,
			address: { address: "10.0.0.7" },
		});
		expect(await target("http://localhost/")).toMatchObject({ ok: true });
		expect(await target("http://[::1]/")).toMatchObject({
			ok: true,
			address: { address: "::1", family: 6 },
		});
		for (const url of ["ftp://hook.internal/", "nothing"]) expect(await target(url)).toMatchObject({ ok: false });
	});

	it("D21: an address of this machine is refused, in every spelling, as its interfaces are then", async () => {
		let own = ["198.51.99.7", "2a00::7"];
		const target = (url: string) =>
			targetOf(url, {
				allowPrivateNetworks: false,
				resolve: at("198.51.99.7"),
				ownAddresses: () => own,
			});
		const spellings = ["198.51.99.7", "[::ffff:198.51.99.7]", "[2a00:0::7]", "0xc6336307"];
		for (const host of [...spellings, "x.example"])
			expect(await target(`http://${host}/`)).toMatchObject({
				ok: false,
				refusal: expect.stringContaining("at this machine's address"),
			});
		expect(await target("http://198.51.99.8/")).toMatchObject({ ok: true });
		own = ["198.51.99.8", "fe80::1%eth0"];
		expect(await target("http://198.51.99.8/")).toMatchObject({ ok: false });
		expect(await target("http://x.example/")).toMatchObject({ ok: true });
	});

	it("D21: the reason never holds the path, the query or the user name", async () => {
		for (const url of [
			"http://127.0.0.1/path-word?q=query-word",
			"http://user-word:pass-word@127.0.0.1/",
			"http://localhost/path-word",
			"nonsense path-word",
		]) {
			const target = await targetOf(url, { allowPrivateNetworks: false, resolve: never });
			expect(target.ok ? "sent" : target.refusal).not.toContain("-word");
			expect(target.ok).toBe(false);
		}
	});
});
