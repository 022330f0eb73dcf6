/** Cases: drained hosts (D44). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

export function hostCases({ open }: Bed): void {
	it("D44: a host is drained until it is resumed", () =>
		alone(open, async ({ store: { hosts } }) => {
			for (const name of ["rig2", "rig1", "rig2"]) await hosts.drain({ name, drained: true, now: T0 });
			expect(await hosts.drained()).toEqual(["rig1", "rig2"]);
			for (const name of ["rig1", "rig9"]) await hosts.drain({ name, drained: false, now: T0 });
			expect(await hosts.drained()).toEqual(["rig2"]);
		}));
}
