/** Documents that several servers change, some of them of another release (D53). */
import { expect, it } from "vitest";
import type { EngineContext } from "../../kernel/engine/context.ts";
import { known, sharedDocument } from "./document.ts";

it("D53: a change that another server was faster with is made again on top of its change", async () => {
	let text: string | undefined;
	let beforeReplace = (): void => {};
	const documents = {
		read: async () => text,
		async replace({ from, to }: { from: string | undefined; to: string }) {
			beforeReplace();
			if (text !== from) return false;
			text = to;
			return true;
		},
	};
	const document = sharedDocument({ store: { documents } } as unknown as EngineContext, "a", [] as number[]);
	beforeReplace = () => {
		beforeReplace = () => {};
		text = "[1]";
	};
	await document.update((all) => [...all, 2]);
	expect(await document.read()).toEqual([1, 2]);
	// What changes nothing writes nothing.
	beforeReplace = expect.unreachable;
	await document.update((all) => all);
});

it("D53: alerts and silences of rules that this release does not know are left out", () => {
	expect(known([{ name: "SluiceOfLater" }, { name: "SluiceSwaps" }])).toEqual([{ name: "SluiceSwaps" }]);
});
