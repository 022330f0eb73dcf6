import { expect, it } from "vitest";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { refusalOf } from "./reply.ts";

it("D40: a sentence of the store stands in brackets without its period", () => {
	const { code, message } = refusalOf(new StoreUnavailable("full", "s.db cannot be written: the disk is full."), "id");
	expect(code).toBe("store_unavailable");
	expect(message).toBe(
		"The store is unavailable (s.db cannot be written: the disk is full). Nothing was accepted; send it again.",
	);
});
