/** Lookups over a real name server: hosts file, search domains, servers that never answer (D21). */
import { lookup } from "node:dns/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type DnsAnswer, dnsServer, type DnsServer } from "../../../test/support/dns-server.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { folder } from "../../../test/support/service.ts";
import { candidates, parseHosts, parseSearch } from "./system-files.ts";
import { hostResolver, type ResolverOptions } from "./resolver.ts";

let ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const end of ends) await end();
	ends = [];
});

const unknown = (): Promise<never> => Promise.reject(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }));

async function site(
	answer: (name: string, family: 4 | 6) => DnsAnswer,
	{ hosts = "", conf = "", ...options }: Partial<ResolverOptions> & { hosts?: string; conf?: string } = {},
) {
	const server: DnsServer = await dnsServer(answer);
	const place = folder();
	ends.push(server.end, place.remove);
	const [hostsFile, resolvConf] = [join(place.path, "hosts"), join(place.path, "resolv.conf")];
	writeFileSync(hostsFile, hosts);
	writeFileSync(resolvConf, conf);
	const clock = manualClock();
	const resolve = hostResolver({
		clock,
		hostsFile,
		resolvConf,
		servers: [server.address],
		system: unknown,
		hasIpv4: () => true,
		...options,
	});
	const addresses = async (host: string): Promise<string[]> => (await resolve(host)).map(({ address }) => address);
	return { clock, server, resolve, addresses, hostsFile, resolvConf };
}

describe("resolving", () => {
	it("D21: names that no server answers for end after 5 s, and keep none of the others waiting", async () => {
		const { clock, server, addresses, resolve } = await site((name) =>
			name.startsWith("dead") ? "silence" : ["192.0.2.7"],
		);
		const dead = Array.from({ length: 40 }, (_, n) => resolve(`dead${n}.example`));
		const ends = dead.map((each) => each.catch((error: NodeJS.ErrnoException) => error.code));
		await server.arrived(80);
		expect(await addresses("alive.example")).toEqual(["192.0.2.7"]);
		// The thread pool is free as well.
		expect(await lookup("127.0.0.1")).toMatchObject({ address: "127.0.0.1" });
		await clock.advance(5000);
		expect(new Set(await Promise.all(ends))).toEqual(new Set(["EAI_AGAIN"]));
	});

	it("D21: a lookup outside of DNS has one thread at most, and only for names that DNS does not have", async () => {
		let asked = 0;
		const first = Promise.withResolvers<void>();
		const { addresses, resolve } = await site((name) => (name === "known.example" ? ["192.0.2.7"] : []), {
			system: () => ((asked += 1), first.resolve(), new Promise(() => {})),
		});
		void resolve("one.local").catch(() => {});
		await first.promise;
		await expect(resolve("two.local")).rejects.toMatchObject({ code: "ENOTFOUND" });
		expect(await addresses("known.example")).toEqual(["192.0.2.7"]);
		expect(asked).toBe(1);
	});

	it("D21: what DNS does not have is looked up where the system does", async () => {
		const { addresses } = await site(() => [], {
			system: async () => [{ address: "192.0.2.9", family: 4 }],
		});
		expect(await addresses("printer.local")).toEqual(["192.0.2.9"]);
	});

	it("D21: names of the hosts file are known without a query, and a change is seen", async () => {
		const { clock, server, addresses, hostsFile } = await site(() => [], {
			hosts: "192.0.2.1 receiver other # a comment\n2001:db8::1 RECEIVER\nnonsense receiver\n",
		});
		expect(await addresses("Receiver")).toEqual(["192.0.2.1", "2001:db8::1"]);
		expect(await addresses("other.")).toEqual(["192.0.2.1"]);
		writeFileSync(hostsFile, "192.0.2.22 receiver\n");
		await clock.advance(1000);
		expect(await addresses("receiver")).toEqual(["192.0.2.22"]);
		expect(server.queried).toEqual([]);
	});

	it("D21: search domains are tried as resolv.conf says", async () => {
		const { server, addresses, resolve } = await site((name) => (name === "hook.team.svc.local" ? ["192.0.2.3"] : []), {
			conf: "search svc.local cluster.local\noptions timeout:1 ndots:2\n",
		});
		expect(await addresses("hook.team")).toEqual(["192.0.2.3"]);
		expect([...new Set(server.queried)]).toEqual(["hook.team.svc.local"]);
		await expect(resolve("a.b.c")).rejects.toMatchObject({ code: "ENOTFOUND" });
		expect([...new Set(server.queried)].slice(1)).toEqual(["a.b.c", "a.b.c.svc.local", "a.b.c.cluster.local"]);
	});

	it("D21: both families, IPv4 first; IPv6 first on a machine without IPv4", async () => {
		const four = "192.0.2.7";
		const six = "2001:0db8:0000:0000:0000:0000:0000:0001";
		const answer = (name: string): DnsAnswer => (name.startsWith("six") ? [six] : [four, six]);
		const both = await site(answer);
		expect(await both.addresses("both.example")).toEqual([four, "2001:db8::1"]);
		expect(await both.addresses("six.example")).toEqual(["2001:db8::1"]);
		const without = await site(answer, { hasIpv4: () => false });
		expect(await without.addresses("both.example")).toEqual(["2001:db8::1", four]);
	});

	it("D21: a server's failure is not a name that does not exist: nothing else is tried", async () => {
		const { server, resolve } = await site(() => "failure", { conf: "search svc.local\n" });
		await expect(resolve("hook.example")).rejects.toMatchObject({ code: "EAI_AGAIN" });
		expect(new Set(server.queried)).toEqual(new Set(["hook.example"]));
	});

	it("D21: sends to one name share a lookup", async () => {
		const { server, resolve } = await site(() => ["192.0.2.7"]);
		await Promise.all([resolve("a.example"), resolve("a.example"), resolve("a.example")]);
		expect(server.queried).toHaveLength(2);
	});
});

describe("files of the resolver", () => {
	it("D21: hosts and resolv.conf are read as their manual pages say", () => {
		expect(parseHosts("# 192.0.2.1 a\n\n\t192.0.2.2\tb  c#d\n")).toEqual(
			new Map([
				["b", ["192.0.2.2"]],
				["c", ["192.0.2.2"]],
			]),
		);
		expect(parseSearch("domain a.test\nsearch b.test c.test\n; search d\noptions ndots:99")).toEqual({
			domains: ["b.test", "c.test"],
			ndots: 15,
		});
		expect(candidates("x", { domains: ["a.test."], ndots: 1 })).toEqual(["x.a.test", "x"]);
		expect(candidates("x.y", { domains: ["a.test"], ndots: 1 })).toEqual(["x.y", "x.y.a.test"]);
		expect(candidates("x.", { domains: ["a.test"], ndots: 1 })).toEqual(["x"]);
	});
});
