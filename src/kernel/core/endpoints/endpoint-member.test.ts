import { expect, it } from "vitest";
import { endpoint } from "../../../../test/support/endpoint-settings.ts";
import { type EndpointMember, memberOf, moduleMembers } from "./endpoint-member.ts";

const RULED: EndpointMember<{ by: number }> = { name: "ruled", schema: { type: "object" }, faults: () => [] };

it("settings that the kernel does not name are those of modules", () => {
	const plain = endpoint({ sleep: null, warmup: { input: 1 }, management: { disk: 1 } });
	expect(moduleMembers({ ...plain, webhookSecret: "whsec_" })).toEqual({});
	const ruled = { ...plain, ruled: { by: 1 }, other: "a" };
	expect(moduleMembers(ruled)).toEqual({ ruled: { by: 1 }, other: "a" });
	expect(memberOf(ruled, RULED)).toEqual({ by: 1 });
	expect(memberOf(plain, RULED)).toBeUndefined();
});
