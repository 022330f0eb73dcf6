/** What other servers say about workers and endpoints. */
import { expect, it } from "vitest";
import { workerViews } from "./worker-views.ts";

it("D29: why an endpoint has no workers comes from the server that knows it, whatever the endpoint is called", () => {
	const note = (heldBack: object) => JSON.stringify({ workers: [], heldBack });
	const crashing = { crashing: "exit code 1" };
	const d = {
		cluster: {
			id: "a",
			scales: () => false,
			servers: () => [
				{ id: "b", note: note({}) },
				{ id: "c", note: note({ constructor: crashing, ep: crashing }) },
			],
		},
		store: { cluster: {} },
	} as unknown as Parameters<typeof workerViews>[0];
	const views = workerViews(d);
	for (const id of ["ep", "constructor"]) expect(views.heldBack(id)).toEqual(crashing);
	for (const id of ["other", "toString"]) expect(views.heldBack(id)).toEqual({});
});
