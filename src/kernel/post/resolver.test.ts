/** Lookups over a real name server: search domains, names outside of DNS, servers that never answer (D21). */
import { lookup } from "node:dns/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type DnsAnswer, dnsServer, type DnsServer } from "../../../test/support/dns-server.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { folder } from "../../../test/support/service.ts";
import { hostResolver, type ResolverOptions } from "./resolver.ts";

let ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const end of ends) await end();
	ends = [];
});

const unknown = (): Promise<never> => Promise.reject(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }));

async function site(
	answer: (name: string, family: 4 | 6) => DnsAnswer,
	{ conf = "", ...options }: Partial<ResolverOptions> & { conf?: string } = {},
) {
	const server: DnsServer = await dnsServer(answer);
	const place = folder();
	ends.push(server.end, place.remove);
	const resolvConf = join(place.path, "resolv.conf");
	writeFileSync(resolvConf, conf);
	const clock = manualClock();
	const resolve = hostResolver({
		clock,
		resolvConf,
		servers: [server.address],
		system: unknown,
		hasIpv4: () => true,
		...options,
	});
	const addresses = async (host: string): Promise<string[]> => (await resolve(host)).map(({ address }) => address);
	return { clock, server, resolve, addresses, resolvConf };
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
		const asked: string[] = [];
		const first = Promise.withResolvers<void>();
		const { clock, addresses, resolve } = await site((name) => (name === "known.example" ? ["192.0.2.7"] : []), {
			system: (host) => {
				asked.push(host);
				first.resolve();
				return new Promise(() => {});
			},
		});
		const codes = ["one.local", "two.local"].map((host) => resolve(host).catch(({ code }) => code));
		await first.promise;
		expect(await addresses("known.example")).toEqual(["192.0.2.7"]);
		await clock.advance(5000);
		expect(await Promise.all(codes)).toEqual(["EAI_AGAIN", "EAI_AGAIN"]);
		expect(asked).toHaveLength(1);
	});

	it("D21: a lookup that ended while it waited for the thread is left out; the next one has its turn", async () => {
		const asked: string[] = [];
		const began = Promise.withResolvers<void>();
		const hanging = Promise.withResolvers<{ address: string; family: number }[]>();
		const { clock, resolve, addresses } = await site(() => [], {
			async system(host) {
				asked.push(host);
				began.resolve();
				return host === "hangs" ? await hanging.promise : [{ address: "192.0.2.9", family: 4 }];
			},
		});
		const late = ["hangs", "waits"].map((host) => resolve(host).catch(({ code }) => code));
		await began.promise;
		await clock.advance(5000);
		expect(await Promise.all(late)).toEqual(["EAI_AGAIN", "EAI_AGAIN"]);
		const next = addresses("next");
		hanging.resolve([]);
		expect(await next).toEqual(["192.0.2.9"]);
		expect(asked).toEqual(["hangs", "next"]);
	});

	it("D21: names without a dot are the system's, without a query; unknown names of DNS keep none waiting", async () => {
		const began = Promise.withResolvers<void>();
		const { server, addresses, resolve } = await site(() => [], {
			async system(host) {
				if (host === "receiver") return [{ address: "192.0.2.1", family: 4 }];
				began.resolve();
				return await new Promise(() => {});
			},
		});
		expect(await addresses("receiver")).toEqual(["192.0.2.1"]);
		expect(server.queried).toEqual([]);
		void resolve("dead.example").catch(() => {});
		await began.promise;
		expect(await addresses("receiver")).toEqual(["192.0.2.1"]);
	});

	it("D21: what DNS does not have is looked up where the system does", async () => {
		const { addresses } = await site(() => [], {
			system: async () => [{ address: "192.0.2.9", family: 4 }],
		});
		expect(await addresses("printer.local")).toEqual(["192.0.2.9"]);
	});

	it("D21: search domains are tried as resolv.conf says", async () => {
		const here = await site((name) => (name === "hook.team.svc.local" ? ["192.0.2.3"] : []), {
			conf: "nameserver 192.0.2.53\nsearch svc.local cluster.local.\noptions timeout:1 ndots:2\n",
		});
		const { clock, server, addresses, resolve, resolvConf } = here;
		expect(await addresses("hook.team")).toEqual(["192.0.2.3"]);
		expect([...new Set(server.queried)]).toEqual(["hook.team.svc.local"]);
		await expect(resolve("a.b.c")).rejects.toMatchObject({ code: "ENOTFOUND" });
		expect([...new Set(server.queried)].slice(1)).toEqual(["a.b.c"]);
		await expect(resolve("hook.other.")).rejects.toMatchObject({ code: "ENOTFOUND" });
		expect(server.queried.at(-1)).toBe("hook.other");
		writeFileSync(resolvConf, "search cluster.local\noptions ndots:3\n");
		await clock.advance(1000);
		await expect(resolve("a.b.c")).rejects.toMatchObject({ code: "ENOTFOUND" });
		expect([...new Set(server.queried)].slice(-1)).toEqual(["a.b.c.cluster.local"]);
	});

	it("D21: the last line of search or domain counts, up to a comment", async () => {
		const queried = async (conf: string): Promise<string[]> => {
			const { server, resolve } = await site(() => [], { conf: `${conf}\noptions ndots:2\n` });
			await expect(resolve("hook.team")).rejects.toMatchObject({ code: "ENOTFOUND" });
			return [...new Set(server.queried)];
		};
		expect(await queried("domain a.test")).toEqual(["hook.team.a.test", "hook.team"]);
		expect(await queried("search a.test\nsearch b.test # former: c.test ")).toEqual(["hook.team.b.test", "hook.team"]);
		expect(await queried("search b.test \ndomain a.test")).toEqual(["hook.team.a.test", "hook.team"]);
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
