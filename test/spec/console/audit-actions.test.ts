/** Names that the console shows for entries of the audit. */
import { expect, it } from "vitest";
import { T } from "../../../console/src/text/text.ts";
import { ROUTES } from "../../../src/modules/tables.ts";

it("D42: the console has a name for every action in the audit", () => {
	const audited = ROUTES.filter(({ access, methods, session, showsValues }) =>
		access === "admin" ? !methods.includes("GET") || showsValues : session,
	);
	expect(Object.keys(T.audit.actions).toSorted()).toEqual(audited.map(({ name }) => name).toSorted());
});
